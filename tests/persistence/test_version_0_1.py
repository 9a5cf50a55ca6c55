"""Models that version 0.1 saved load, and give the same predictions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mproto import Recognizer, demo

FOLDER = Path(__file__).parent.parent / "data" / "saved-by-0.1"


@pytest.mark.parametrize("name", ["mproto", "mproto-paper", "self-training"])
def test_a_model_predicts_as_before(name: str, tmp_path: Path) -> None:
    texts = [document.text for document in demo.documents("test")[:12]]
    recognizer = Recognizer.from_pretrained(FOLDER / name)
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    assert any(expected)
    for found, before in zip(recognizer(texts), expected, strict=True):
        for entity in (*found, *before):
            entity["score"] = pytest.approx(entity["score"], abs=1e-6)
        assert found == before
    recognizer.save_pretrained(tmp_path)
    assert Recognizer.from_pretrained(tmp_path)(texts) == recognizer(texts)
