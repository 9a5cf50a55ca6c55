from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.text import Document, Span, Word, WordSpan


def test_it_is_immutable() -> None:
    document = Document("aspirin", (Span(0, 7, "C"),))
    with pytest.raises(dataclasses.FrozenInstanceError):
        document.text = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        document.spans[0].label = "D"  # type: ignore[misc]
    assert hash(document) == hash(Document("aspirin", (Span(0, 7, "C"),)))


def test_spans_are_a_sorted_set() -> None:
    spans = (Span(3, 4, "A"), Span(0, 1, "B"), Span(3, 4, "A"))
    assert Document("abcd", spans).spans == (Span(0, 1, "B"), Span(3, 4, "A"))


@pytest.mark.parametrize(
    ("span", "what"),
    [
        (Span(0, 5, "C"), "span 0–5 (C) lies outside its text of 4 characters"),
        (Span(-1, 2, "C"), "lies outside"),
        (Span(2, 2, "C"), "span 2–2 (C) is empty"),
        (Span(3, 2, "C"), "is empty"),
        (Span(0, 1, ""), "span 0–1 has an empty label"),
    ],
)
def test_invalid_spans_are_rejected(span: Span, what: str) -> None:
    for document in ({"spans": (span,)}, {"gold": (span,)}):
        with pytest.raises(ValueError, match=what.replace("(", r"\(").replace(")", r"\)")):
            Document("abcd", **document)  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [[(0, 2), (1, 3)], [(2, 3), (0, 1)], [(0, 9)], [(1, 1)]])
def test_invalid_words_are_rejected(words: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match=r"word \d"):
        Document("abcd", given_words=tuple(Word(*word) for word in words))


@given(st.lists(st.text(min_size=1, max_size=5), max_size=8), st.data())
def test_given_words_are_kept(words: list[str], data: st.DataObject) -> None:
    starts = data.draw(st.sets(st.integers(0, len(words) - 1))) if words else set()
    spans = [WordSpan(start, data.draw(st.integers(start + 1, len(words))), "X") for start in sorted(starts)]
    document = Document.from_words(words, spans)
    assert list(document.word_texts) == words
    assert document.word_spans == tuple(spans)
    assert document.spans_fit_words
    assert [document.surface(s) for s in document.spans] == [" ".join(words[s.start : s.end]) for s in spans]


def test_word_spans_cover_whole_words() -> None:
    document = Document(
        "say paracetamol-free now", (Span(6, 9, "C"), Span(3, 4, "gap")), given_words=(Word(4, 20), Word(21, 24))
    )
    assert document.word_spans == (WordSpan(0, 1, "C"),)
    assert document.widen_spans().spans == (Span(4, 20, "C"),)


@given(st.text("ab-1 ,", max_size=20), st.data())
def test_words_are_split_at_span_edges(text: str, data: st.DataObject) -> None:
    spans = []
    for _ in range(3):
        if len(text) > 1:
            start = data.draw(st.integers(0, len(text) - 1))
            end = data.draw(st.integers(start + 1, len(text)))
            if text[start:end] == text[start:end].strip() and text[start:end]:
                spans.append(Span(start, end, "X"))
    document = Document(text, tuple(spans)).split_at_spans()
    assert document.spans_fit_words
    assert document.widen_spans().spans == document.spans
    assert "".join(document.word_texts) == text.replace(" ", "")


def test_gold_spans_are_treated_like_spans() -> None:
    document = Document("ab cd", (Span(0, 2, "X"),), gold=(Span(1, 4, "Y"),))
    assert not document.spans_fit_words
    cut = document.split_at_spans()
    assert cut.word_texts == ("a", "b", "c", "d")
    assert cut.spans_fit_words
    assert cut.gold_word_spans == (WordSpan(1, 3, "Y"),)
    given = Document("ab cd", gold=(Span(1, 4, "Y"),), given_words=(Word(0, 2), Word(3, 5)))
    assert given.widen_spans().gold == (Span(0, 5, "Y"),)
    with pytest.raises(ValueError, match="span -1–1"):
        Document.from_words(["a"], [(-1, 1, "X")])
    with pytest.raises(ValueError, match="word 2 is empty"):
        Document.from_words(["a", ""])


def test_metadata_counts_for_equality() -> None:
    assert Document("a", meta={"x": 1}) != Document("a")


def test_other_spans_on_the_same_words() -> None:
    document = Document.from_words(["a", "b"], [(0, 1, "X")])
    other = document.with_spans((Span(2, 3, "Y"),), ())
    assert (other.word_spans, other.gold, other.word_texts) == ((WordSpan(1, 2, "Y"),), (), ("a", "b"))
    assert document.word_spans == (WordSpan(0, 1, "X"),)
    with pytest.raises(ValueError, match="lies outside"):
        document.with_spans((Span(2, 9, "Y"),), None)


def test_overlaps_are_found() -> None:
    assert Document("abcd", (Span(0, 2, "A"), Span(2, 4, "A"))).first_overlap is None
    assert Document("abcd", (Span(0, 3, "A"), Span(2, 4, "B"))).first_overlap == (Span(0, 3, "A"), Span(2, 4, "B"))
    assert Document("abcd", (Span(0, 4, "A"), Span(0, 1, "A"), Span(2, 3, "A"))).first_overlap is not None
    assert Document("abcd", gold=(Span(0, 2, "A"), Span(0, 2, "B"))).first_overlap is not None
