"""The bundled corpus: sentences about medicines and illnesses for a general reader, and a gazetteer with gaps.

`GUIDE.md` in this folder says how the labelled sentences are labelled.
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
    """The sentences of a split: `train` has no labels, `dev` and `test` have human ones."""
    return tuple(read_documents(FOLDER / FILES[split]))


@cache
def gazetteer() -> Gazetteer:
    """Two short term lists, with the flaws that such lists have."""
    return Gazetteer.load(GAZETTEER)
