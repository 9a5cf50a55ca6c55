"""The bundled corpus: sentences about medicines and illnesses, and an incomplete gazetteer.

`GUIDE.md` in this folder is the annotation guide of the labelled sentences.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mproto.gazetteer import Gazetteer
from mproto.text import read_documents

if TYPE_CHECKING:
    from mproto.text import Document

FOLDER = Path(__file__).parent
GAZETTEER = FOLDER / "gazetteer"
FILES = {"train": "train.txt", "dev": "dev.jsonl", "test": "test.jsonl"}

Split = Literal["train", "dev", "test"]


@cache
def documents(split: Split) -> tuple[Document, ...]:
    """Return the sentences of a split.

    `train` has no labels; `dev` and `test` have human labels.
    """
    return tuple(read_documents(FOLDER / FILES[split]))


@cache
def gazetteer() -> Gazetteer:
    """Return the gazetteer: two short term lists with typical gaps and errors."""
    return Gazetteer.load(GAZETTEER)
