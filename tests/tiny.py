"""A recogniser of a few kilobytes, for tests of saving, packing and sending."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from encoders import write_roberta
from mproto import Document, Recognizer, demo, train
from mproto.config import load_config
from runs import SMALL, labelled


@cache
def tiny_model() -> Recognizer:
    """Return the recogniser. Tests must not train it further."""
    with tempfile.TemporaryDirectory() as folder:
        encoder = str(write_roberta(Path(folder), positions=200))
        recognizer = train(labelled(), config=load_config(settings=SMALL), encoder=encoder).recognizer
    recognizer.model.entity_bias = 1.0  # after so short a training, it is so low that nothing is found
    assert any(recognizer.predict_entities(documents())), "it should find something, or tests would compare nothing"
    return recognizer


@cache
def tiny_export() -> Path:
    """Return the folder of the exported recogniser. Tests must not change it."""
    from mproto.integrations.onnx import export_onnx

    folder = Path(tempfile.mkdtemp())
    export_onnx(tiny_model(), folder)
    return folder


def documents() -> list[Document]:
    return [Document(document.text) for document in demo.documents("test")[:12]]
