"""What a document is: a text, its words, and labelled spans, all in half-open character offsets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, count, pairwise
from operator import add, le, lt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from mproto.text.words import Word, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

NO_META: Mapping[str, Any] = MappingProxyType({})


class Span(NamedTuple):
    """A labelled stretch of text: `text[start:end]`."""

    start: int
    end: int
    label: str


class WordSpan(NamedTuple):
    """A labelled run of words: `words[start:end]`. A type of its own, so that the two units never mix."""

    start: int
    end: int
    label: str


AnySpan = TypeVar("AnySpan", Span, WordSpan)


class _GivenWords:
    """The words of a document made from words, worked out when somebody asks; what is given otherwise hides this."""

    def __get__(self, document: Document | None, owner: type[Document]) -> tuple[Word, ...] | None:
        if document is None or document._given_texts is None:  # noqa: SLF001
            return None
        words = vars(document)["given_words"] = tuple(map(Word, *document.edges))
        return words


@dataclass(frozen=True)
class Document:
    """A text with labelled spans. Immutable; spans are a set, kept in order.

    Attributes:
        text: the original text, never changed.
        spans: its labels, in characters. They may overlap; formats that cannot hold that say so.
        given_words: word offsets where the input was split into words already, else `None`.
        id: a name that is unique within its corpus, or empty.
        gold: human labels kept beside distant ones, for analysis; nothing learns from them unless told to.
        meta: whatever else came with the document.
    """

    text: str
    spans: tuple[Span, ...] = ()
    given_words: tuple[Word, ...] | None = _GivenWords()  # type: ignore[assignment]
    id: str = ""
    gold: tuple[Span, ...] | None = None
    meta: Mapping[str, Any] = field(default_factory=lambda: NO_META, hash=False)

    _edges: ClassVar[tuple[Sequence[int], Sequence[int]] | None] = None  # worked out when somebody asks
    _given_texts: ClassVar[tuple[str, ...] | None] = None  # the given words themselves, where they are at hand
    _word_spans: ClassVar[tuple[WordSpan, ...] | None] = None  # the spans in words, where they came as such
    _gold_word_spans: ClassVar[tuple[WordSpan, ...] | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "spans", _checked(self.spans, self.text))
        if self.gold is not None:
            object.__setattr__(self, "gold", _checked(self.gold, self.text))
        if self.given_words is not None:
            _check_words(self.given_words, self.text)

    @classmethod
    def from_words(
        cls,
        words: Sequence[str],
        spans: Iterable[tuple[int, int, str]] = (),
        *,
        id: str = "",
        gold: Iterable[tuple[int, int, str]] | None = None,
        meta: Mapping[str, Any] = NO_META,
    ) -> Self:
        """A document of given words joined by single spaces; spans count words."""
        if "" in words:
            raise ValueError(f"word {words.index('') + 1} is empty")
        fields: dict[str, Any] = {
            "text": " ".join(words),
            "spans": (),
            "id": id,
            "gold": None,
            "meta": meta,
            "_given_texts": tuple(words),
        }
        document = cls._trusted(fields)
        if spans:
            fields["spans"], fields["_word_spans"] = document._both(spans)  # noqa: SLF001
        if gold is not None:
            fields["gold"], fields["_gold_word_spans"] = document._both(gold)  # noqa: SLF001
        return document

    @classmethod
    def _trusted(cls, fields: dict[str, Any]) -> Self:
        """A document of fields that are known to be right."""
        document = object.__new__(cls)
        object.__setattr__(document, "__dict__", fields)
        return document

    @property
    def words(self) -> tuple[Word, ...]:
        """Word offsets: the given ones, else those of the word splitter."""
        return self._own_words if self.given_words is None else self.given_words

    @cached_property
    def _own_words(self) -> tuple[Word, ...]:
        return split_words(self.text)

    @property
    def edges(self) -> tuple[Sequence[int], Sequence[int]]:
        """Where the words start and where they end."""
        if self._edges is None:  # a cached_property would take a lock for every document
            vars(self)["_edges"] = self._work_out_edges()
        return self._edges  # type: ignore[return-value]

    def _work_out_edges(self) -> tuple[Sequence[int], Sequence[int]]:
        if self._given_texts is None:
            return tuple(zip(*self.words, strict=True)) or ((), ())  # type: ignore[return-value]
        ends = list(map(add, accumulate(map(len, self._given_texts)), count()))
        starts = [end + 1 for end in ends]
        return [0, *starts[:-1]], ends

    @property
    def word_texts(self) -> tuple[str, ...]:
        if self._given_texts is not None:
            return self._given_texts
        text = self.text
        return tuple([text[start:end] for start, end in self.words])

    @property
    def word_count(self) -> int:
        return len(self.words if self._given_texts is None else self._given_texts)

    @property
    def is_words_joined(self) -> bool:
        """Whether the text is its words with a blank between each two."""
        return self._given_texts is not None or " ".join(self.word_texts) == self.text

    def surface(self, span: Span) -> str:
        return self.text[span.start : span.end]

    @property
    def word_spans(self) -> tuple[WordSpan, ...]:
        """The spans in words. An edge inside a word takes in the whole word; spans that cover no word are left out."""
        return self._in_words(self.spans) if self._word_spans is None else self._word_spans

    @property
    def gold_word_spans(self) -> tuple[WordSpan, ...] | None:
        """The gold spans in words, by the same rule."""
        if self.gold is None:
            return None
        return self._in_words(self.gold) if self._gold_word_spans is None else self._gold_word_spans

    def _both(self, spans: Iterable[tuple[int, int, str]]) -> tuple[tuple[Span, ...], tuple[WordSpan, ...]]:
        """Spans of words in characters, and as they are; both in order, each once."""
        in_words = _in_order(tuple([WordSpan(*span) for span in spans]))
        return (_in_characters(in_words, self.edges) if in_words else ()), in_words

    def _in_words(self, spans: Sequence[Span]) -> tuple[WordSpan, ...]:
        found = {
            WordSpan(first, last, span.label) for span in spans for first, last in [self._touched(span)] if first < last
        }
        return tuple(sorted(found))

    def _touched(self, span: Span) -> tuple[int, int]:
        """The words that a span shares a character with, half-open."""
        starts, ends = self.edges
        return bisect_right(ends, span.start), bisect_left(starts, span.end)

    @property
    def spans_fit_words(self) -> bool:
        """Whether every span, gold ones too, starts and ends where a word does."""
        unknown = self.spans if self._word_spans is None else ()
        if self.gold and self._gold_word_spans is None:
            unknown += self.gold
        if not unknown:
            return True
        starts, ends = self.edges
        for span in unknown:
            first, last = self._touched(span)
            if first >= last or starts[first] != span.start or ends[last - 1] != span.end:
                return False
        return True

    def with_spans(self, spans: Iterable[Span], gold: Iterable[Span] | None) -> Self:
        """The same document with other spans; quick, since its words are known to be right."""
        gold = None if gold is None else _checked(gold, self.text)
        fields = {**vars(self), "spans": _checked(spans, self.text), "gold": gold}
        return self._trusted({**fields, "_word_spans": None, "_gold_word_spans": None})

    def bare(self) -> Self:
        """The same document without any label."""
        return self.with_spans((), None)

    def by_people(self) -> Self:
        """The same document with its human labels for its labels; where it has none beside them, its labels are people's."""
        return self if self.gold is None else self.with_spans(self.gold, None)

    def relabelled(self, spans: Iterable[tuple[int, int, str]], *, keep: bool) -> Self:
        """The same document with other spans, in words.

        Those that it had become its gold spans if they are to be kept and it has none yet.
        """
        in_characters, in_words = self._both(spans)
        fields = {**vars(self), "spans": in_characters, "_word_spans": in_words}
        if keep and self.gold is None:
            fields["gold"], fields["_gold_word_spans"] = self.spans, self._word_spans
        return self._trusted(fields)

    def with_meta(self, meta: Mapping[str, Any]) -> Self:
        """The same document with other metadata."""
        return self._trusted({**vars(self), "meta": meta})

    def split_at_spans(self) -> Self:
        """The same document with words cut where a span starts or ends inside one, so that spans fit words."""
        edges = sorted({edge for span in self.spans + (self.gold or ()) for edge in span[:2]})
        words: list[Word] = []
        for start, end in self.words:
            cuts = [start, *(edge for edge in edges if start < edge < end), end]
            words.extend(Word(*pair) for pair in pairwise(cuts))
        return replace(self, given_words=tuple(words))

    def widen_spans(self) -> Self:
        """The same document with every span widened to whole words; white space at its edges is left out."""

        def widened(spans: Sequence[Span]) -> tuple[Span, ...]:
            return _in_characters(self._in_words(spans), self.edges)

        return replace(self, spans=widened(self.spans), gold=None if self.gold is None else widened(self.gold))

    @property
    def first_overlap(self) -> tuple[Span, Span] | None:
        """Two spans that share a character, if any do; the gold spans are looked at on their own."""
        for spans in (self.spans, self.gold or ()):
            for one, other in pairwise(spans):
                if other.start < one.end:
                    return one, other
        return None


def _in_characters(
    spans: Iterable[tuple[int, int, str]], edges: tuple[Sequence[int], Sequence[int]]
) -> tuple[Span, ...]:
    """Spans of words as spans of characters."""
    found = []
    starts, ends = edges
    for start, end, label in spans:
        if not 0 <= start < end <= len(starts):
            raise ValueError(_wrong_place(start, end, label, f"its sentence of {len(starts)} words"))
        if not label:
            raise ValueError(f"span {start}–{end} has an empty label")
        found.append(Span(starts[start], ends[end - 1], label))
    return tuple(found)


def _checked(spans: Iterable[Span], text: str) -> tuple[Span, ...]:
    """Spans in order, each once."""
    spans = tuple(spans)
    if not spans:
        return spans
    length = len(text)
    for start, end, label in spans:
        if not 0 <= start < end <= length:
            raise ValueError(_wrong_place(start, end, label, f"its text of {len(text)} characters"))
        if not label:
            raise ValueError(f"span {start}–{end} has an empty label")
    return _in_order(spans)


def _in_order(spans: tuple[AnySpan, ...]) -> tuple[AnySpan, ...]:
    return spans if len(spans) < 2 or all(map(lt, spans, spans[1:])) else tuple(sorted(set(spans)))


def _wrong_place(start: int, end: int, label: str, where: str) -> str:
    return f"span {start}–{end} ({label}) " + (f"lies outside {where}" if start < end else "is empty")


def _check_words(words: Sequence[Word], text: str) -> None:
    if not words:
        return
    starts, ends = zip(*words, strict=True)
    if starts[0] >= 0 and ends[-1] <= len(text) and all(map(lt, starts, ends)) and all(map(le, ends, starts[1:])):
        return
    position = 0
    for number, (start, end) in enumerate(words, 1):
        if start == end:
            raise ValueError(f"word {number} is empty")
        if not position <= start < end <= len(text):
            raise ValueError(f"word {number} at {start}–{end} is outside the text or overlaps the word before it")
        position = end
