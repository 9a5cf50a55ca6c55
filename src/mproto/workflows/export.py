"""`mproto export`: a model in another form, checked against the original before it is put in its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mproto import demo
from mproto.errors import InputError
from mproto.integrations.comparison import Comparison, compare
from mproto.io.outputs import Outputs
from mproto.persistence.files import model_folder
from mproto.recognizer import Recognizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.text.document import Document

Format = Literal["onnx", "transformers"]
FORMATS: tuple[Format, ...] = ("onnx", "transformers")
WRITTEN = (".json", ".md", ".onnx", ".safetensors", ".txt")
MOST_DOCUMENTS = 300
"""That the two are compared on."""


def export_model(
    model: Path | str,
    output: Path,
    *,
    format: Format = "onnx",
    int8: bool = False,
    documents: Sequence[Document] = (),
    force: bool = False,
) -> Comparison:
    """Write a model in another form; whole, and saying what the original says, or not at all.

    Args:
        model: its folder, or its name on the Hugging Face hub.
        output: the folder to write.
        format: `onnx`, which `Recognizer.from_pretrained` opens without torch, or `transformers`, a folder that
            `AutoModelForTokenClassification` opens without mproto.
        int8: for onnx: a quarter of the size, and faster, for a little of the accuracy.
        documents: to compare the two on; the bundled ones without any. Where they have labels, these are taken for people's.
        force: whether an older export may be replaced.

    Raises:
        InputError: the model has no such form, or the call is wrong.
        MprotoError: what was written does not say what the original says.
    """
    if int8 and format != "onnx":
        raise InputError("only graphs of ONNX have weights of eight bits", hint="leave --int8 out")
    own = model_folder(Path(model)).resolve()
    if output.resolve() in (own, own.parent) and own.exists():
        what = "is the folder of the model itself, which the export would replace"
        raise InputError(what, path=output, hint="name another output")
    with Outputs(force=force) as outputs:
        folder = outputs.folder(output, WRITTEN).path
        recognizer = Recognizer.from_pretrained(model)
        if format == "onnx":
            from mproto.integrations.onnx import export_onnx

            export_onnx(recognizer, folder, int8=int8)
            exported = Recognizer.from_pretrained(folder)
        else:
            from mproto.integrations.transformers import TransformersTagger, export_transformers

            export_transformers(recognizer, folder)
            exported = Recognizer(TransformersTagger(folder, recognizer), recognizer.config)
        chosen = [document for document in documents or demo.documents("test") if document.word_count][:MOST_DOCUMENTS]
        gold = bool(documents) and any(document.with_gold().spans for document in chosen)
        comparison = compare(recognizer, exported, chosen, gold=gold)
        comparison.check(exact=not int8)
    return comparison
