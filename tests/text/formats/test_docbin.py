"""DocBin files, written without spaCy's `Doc`; spaCy is the oracle."""

from __future__ import annotations

import tempfile
import zlib
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.errors import InputError, Notes
from mproto.text import Document, Span, Word, read_documents, write_documents
from mproto.text.formats import get_format
from strategies import corpora

spacy = pytest.importorskip("spacy")
srsly = pytest.importorskip("srsly")

KEEPS = get_format("docbin").keeps
SYMBOLS = st.sampled_from(["ORG", "PERSON", "ORTH", "nsubj", "a"])  # spaCy has small numbers for some strings


def written(documents: list[Document]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.spacy"
        write_documents(documents, path, notes=Notes())
        return path.read_bytes()


def by_spacy(documents: list[Document]) -> bytes:
    """Write the same file with a `Doc` for each document."""
    vocab, docs = spacy.vocab.Vocab(), spacy.tokens.DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
    for document in documents:
        words, spaces = spacy.util.get_words_and_spaces(document.word_texts, document.text)
        doc = spacy.tokens.Doc(vocab, words=words, spaces=spaces)
        doc.ents = [doc.char_span(*span) for span in document.spans]
        docs.add(doc)
    packed: bytes = docs.to_bytes()
    return packed


def message(data: bytes) -> dict[str, Any]:
    content: dict[str, Any] = srsly.msgpack_loads(zlib.decompress(data))
    return content


def read_by_spacy(data: bytes) -> list[tuple[object, ...]]:
    docs = spacy.tokens.DocBin().from_bytes(data).get_docs(spacy.vocab.Vocab())
    return [
        (
            doc.text,
            [(t.text, t.whitespace_, t.ent_iob_, t.ent_type_, t.lower_, t.norm_, t.is_space) for t in doc],
            [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents],
            doc.has_annotation("ENT_IOB"),
        )
        for doc in docs
    ]


@given(corpora(KEEPS) | corpora(KEEPS, SYMBOLS))
def test_the_file_is_what_spacy_writes(documents: list[Document]) -> None:
    ours, theirs = message(written(documents)), message(by_spacy(documents))
    needed, more = set(ours.pop("strings")), set(theirs.pop("strings"))
    assert ours == theirs
    assert needed <= more


@given(corpora(KEEPS))
def test_spacy_reads_the_same(documents: list[Document]) -> None:
    data = written(documents)
    assert read_by_spacy(data) == read_by_spacy(by_spacy(documents))
    assert [(d.text, d.spans) for d in documents] == [
        (text, tuple(Span(*ent) for ent in ents))  # type: ignore[attr-defined]
        for text, _, ents, _ in read_by_spacy(data)
    ]


@given(corpora(KEEPS))
def test_files_of_spacy_are_read(documents: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.spacy"
        path.write_bytes(by_spacy(documents))
        found = list(read_documents(path))
    assert [(d.text, d.spans, d.words) for d in found] == [(d.text, d.spans, d.words) for d in documents]


def test_white_space_words_are_counted(tmp_path: Path) -> None:
    notes = Notes()
    document = Document("a \u00a0 b", given_words=(Word(0, 1), Word(2, 3), Word(4, 5)))
    write_documents([document], tmp_path / "x.spacy", notes=notes)
    assert notes.messages() == ["1 words are white space only, which is not a word in spaCy"]
    (doc,) = spacy.tokens.DocBin().from_disk(tmp_path / "x.spacy").get_docs(spacy.vocab.Vocab())
    assert doc.text == document.text


@given(corpora(KEEPS) | corpora(KEEPS, SYMBOLS), st.booleans(), st.booleans())
def test_files_are_read_like_spacy_reads_them(
    documents: list[Document], known_spaces: bool, all_attributes: bool
) -> None:
    vocab = spacy.vocab.Vocab()
    docs = spacy.tokens.DocBin() if all_attributes else spacy.tokens.DocBin(attrs=["LEMMA", "ENT_TYPE", "ENT_IOB"])
    for document in documents:
        words, spaces = spacy.util.get_words_and_spaces(document.word_texts, document.text)
        doc = spacy.tokens.Doc(vocab, words=words, spaces=spaces if known_spaces else None)
        doc.ents = (
            [doc[1:3]] if len(doc) < 5 else [spacy.tokens.Span(doc, 1, 2, "A"), spacy.tokens.Span(doc, 2, 4, "A")]
        )
        docs.add(doc)
    expected = [
        (doc.text, [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents])
        for doc in spacy.tokens.DocBin().from_bytes(docs.to_bytes()).get_docs(spacy.vocab.Vocab())
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.spacy"
        path.write_bytes(docs.to_bytes())
        assert [(d.text, [tuple(span) for span in d.spans]) for d in read_documents(path)] == expected


def tagged(tags: list[int], folder: Path) -> Path:
    """Write a file with these tags, valid or not."""
    path = folder / "x.spacy"
    write_documents([Document.from_words(["a"] * len(tags), [(0, 1, "X")])], path)
    content = message(path.read_bytes())
    rows = array("Q", content["tokens"])
    rows[1::3], rows[2::3] = array("Q", tags), array("Q", [rows[2]] * len(tags))
    path.write_bytes(zlib.compress(srsly.msgpack_dumps({**content, "tokens": rows.tobytes()})))
    return path


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_entities_equal_those_of_spacy(tags: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = tagged(tags, Path(folder))
        (doc,) = spacy.tokens.DocBin().from_disk(path).get_docs(spacy.vocab.Vocab())
        try:
            expected = [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        except ValueError:
            with pytest.raises(InputError, match="has the tag I without a B before it"):
                list(read_documents(path))
        else:
            assert [tuple(span) for document in read_documents(path) for span in document.spans] == expected


def test_span_groups_are_counted(tmp_path: Path) -> None:
    doc = spacy.tokens.Doc(spacy.vocab.Vocab(), words=["a", "b"])
    doc.spans["x"] = [doc[0:1], doc[0:2]]
    spacy.tokens.DocBin(docs=[doc, doc]).to_disk(tmp_path / "x.spacy")
    with pytest.warns(UserWarning, match="4 spans of span groups were not read"):
        assert len(list(read_documents(tmp_path / "x.spacy"))) == 2
