"""Round trips through every format and every pair of formats, with all that both can hold."""

from __future__ import annotations

import tempfile
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mproto.errors import Notes
from mproto.io.sources import Source
from mproto.text import Document, formats, read_documents, write_documents
from mproto.text.formats import Format, Keeps, get_format
from strategies import corpora

FILE_NAMES = {"roster": "train_text.txt", "parquet": "x.parquet", "arrow": "x.arrow", "docbin": "x.spacy"}
FORMATS = formats()
PLAIN_WORDS = ("aspirin", "IL-2", "5-HT3", "Parkinson", "café", "3.5", "痛", "👍🏽", ",")


def pass_through(documents: list[Document], format: Format) -> tuple[list[Document], Notes]:
    """Write and read documents, detecting the format; the notes count losses."""
    notes = Notes()
    with tempfile.TemporaryDirectory() as folder:
        name = FILE_NAMES.get(format.name, "x.txt" if format.name == "text" else "x")
        path = Path(folder) / name
        write_documents(documents, path, format, notes=notes)
        return list(read_documents(Source(path, notes))), notes


def kept_parts(document: Document, keeps: Keeps) -> tuple[object, ...]:
    """Return the parts of a document that must survive."""
    ids = document.id if Keeps.IDS in keeps else None
    meta = dict(document.meta) if Keeps.META in keeps else None
    words = document.word_texts if Keeps.WORDS in keeps else None
    if Keeps.TEXT in keeps:
        return ids, meta, words, document.text, document.spans, document.gold
    return ids, meta, words, document.word_texts, document.word_spans, document.gold_word_spans


def without_words(documents: list[Document], keeps: Keeps) -> list[Document]:
    """Drop given words for formats that do not keep them."""
    if Keeps.WORDS in keeps:
        return documents
    return [Document(d.text, d.spans, None, d.id, d.gold, d.meta) for d in documents]


def lines_only(documents: list[Document]) -> list[Document]:
    """Drop line ends and blank documents, which lines of text cannot hold."""
    kept = [Document(d.text.replace("\n", " ").replace("\r", " "), id=d.id) for d in documents]
    return [d for d in kept if d.text.strip()]


@pytest.mark.parametrize("name", [format.name for format in FORMATS])
@settings(max_examples=40)
@given(data=st.data())
def test_one_format(name: str, data: st.DataObject) -> None:
    format = get_format(name)
    keeps = format.keeps
    documents = without_words(data.draw(corpora(keeps)), keeps)
    if name == "text":
        documents = lines_only(documents) or [Document("a")]
    back, notes = pass_through(documents, format)
    assert [kept_parts(d, keeps) for d in back] == [kept_parts(d, keeps) for d in documents]
    assert not notes.counts


@pytest.mark.parametrize(("first", "second"), list(permutations([format.name for format in FORMATS], 2)))
@settings(max_examples=4)
@given(data=st.data())
def test_pairs_of_formats(first: str, second: str, data: st.DataObject) -> None:
    keeps = get_format(first).keeps & get_format(second).keeps
    if Keeps.WORDS not in keeps:
        keeps &= ~Keeps.ANY_WORD  # words with white space at their edges are not words to the splitter
    if Keeps.TEXT in keeps or Keeps.WORDS in keeps:
        documents = without_words(data.draw(corpora(keeps)), keeps)
    else:  # one keeps the text, the other keeps words: use words that the splitter does not split
        documents = without_words(data.draw(corpora(keeps, words=st.sampled_from(PLAIN_WORDS))), keeps)
    if "text" in (first, second):
        documents = lines_only(documents) or [Document("a")]
    there, _ = pass_through(documents, get_format(first))
    back, _ = pass_through(there, get_format(second))
    assert [kept_parts(d, keeps) for d in back] == [kept_parts(d, keeps) for d in documents]
