"""Random documents that a given format can hold."""

from __future__ import annotations

from hypothesis import strategies as st

from mproto.text.document import Document, WordSpan
from mproto.text.formats import Keeps

LABELS = ("PER", "geo-loc", "Krankheit", "病")
ODD_LABELS = ("Medical Device", "a, b")

# Letters, digits, marks, emoji, right-to-left, CJK and what breaks naive splitters.
_WORD_ALPHABET = "abzAZ019-'’.,:/()&ßéµ\u0301\u200d中ひعא👩⚕️👍🏽🇬"
_SPACES = (" ", "  ", "\n", "\t ", "\u00a0", "\u2028", "\r\n")


def words(keeps: Keeps) -> st.SearchStrategy[str]:
    alphabet = _WORD_ALPHABET + (" \t\u2003" if Keeps.ANY_WORD in keeps else "")
    return st.text(alphabet, min_size=1, max_size=6).filter(lambda word: not word.isspace())


@st.composite
def word_spans(draw: st.DrawFn, length: int, keeps: Keeps, tags: tuple[str, ...]) -> list[WordSpan]:
    spans: list[WordSpan] = []
    position = 0
    while position < length and draw(st.booleans()):
        start = draw(st.integers(position, length - 1))
        end = draw(st.integers(start + 1, min(length, start + 4)))
        label = draw(st.sampled_from(tags))
        touches = bool(spans) and spans[-1].end == start and spans[-1].label == label
        if not (touches and Keeps.TOUCHING not in keeps):
            spans.append(WordSpan(start, end, label))
        position = end if Keeps.OVERLAPS not in keeps else start + 1
    return spans


@st.composite
def documents(draw: st.DrawFn, keeps: Keeps, word: st.SearchStrategy[str] | None) -> Document:
    """A document with nothing in it that `keeps` leaves out."""
    tags = LABELS + (ODD_LABELS if Keeps.ANY_LABEL in keeps else ())
    tokens = draw(
        st.lists(words(keeps) if word is None else word, min_size=0 if Keeps.EMPTY in keeps else 1, max_size=8)
    )
    document = Document.from_words(
        tokens,
        draw(word_spans(len(tokens), keeps, tags)) if Keeps.SPANS in keeps else (),
        gold=draw(st.none() | word_spans(len(tokens), keeps, tags)) if Keeps.GOLD in keeps else None,
        meta=draw(
            st.dictionaries(st.sampled_from(["source", "year"]), st.integers() | st.text("aé", max_size=3), max_size=2)
        )
        if Keeps.META in keeps
        else {},
    )
    if Keeps.TEXT in keeps:
        document = draw(_respaced(document))
    return document


@st.composite
def _respaced(draw: st.DrawFn, document: Document) -> Document:
    """The same words and spans with other white space between the words, as text from the wild has it."""
    text, position, moved = "", 0, {}
    for start, end in document.words:
        text += draw(st.sampled_from(_SPACES)) if position else ""
        moved[start] = len(text)
        text += document.text[start:end]
        moved[end] = len(text)
        position = end
    spans = tuple(s._replace(start=moved[s.start], end=moved[s.end]) for s in document.spans)
    gold = document.gold and tuple(s._replace(start=moved[s.start], end=moved[s.end]) for s in document.gold)
    given = tuple(type(w)(moved[w.start], moved[w.end]) for w in document.words)
    return Document(text, spans, given_words=given, gold=gold, meta=document.meta)


def corpora(keeps: Keeps, words: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[list[Document]]:
    def with_ids(found: list[Document]) -> list[Document]:
        if Keeps.IDS not in keeps:
            return found
        return [Document(d.text, d.spans, d.given_words, f"doc-{i}", d.gold, d.meta) for i, d in enumerate(found)]

    def same_gold(found: list[Document]) -> list[Document]:
        """Gold for all documents or for none, as files have it."""
        if any(d.gold is None for d in found):
            return [Document(d.text, d.spans, d.given_words, d.id, None, d.meta) for d in found]
        return found

    return st.lists(documents(keeps, words), min_size=1, max_size=5).map(with_ids).map(same_gold)
