"""Documents: a text, its words and its labelled spans, all as half-open character offsets."""

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
    """A labelled part of a text: `text[start:end]`."""

    start: int
    end: int
    label: str


class WordSpan(NamedTuple):
    """A labelled sequence of words: `words[start:end]`.

    It has its own type so that offsets in words are never mixed up with offsets in characters.
    """

    start: int
    end: int
    label: str


AnySpan = TypeVar("AnySpan", Span, WordSpan)


class _LazyGivenWords:
    """Default of `given_words`: computes the words of a `from_words` document on first access.

    A value passed to the constructor is set on the instance and hides this descriptor.
    """

    def __get__(self, document: Document | None, owner: type[Document]) -> tuple[Word, ...] | None:
        if document is None or document._given_texts is None:  # noqa: SLF001
            return None
        words = vars(document)["given_words"] = tuple(map(Word, *document.edges))
        return words


@dataclass(frozen=True)
class Document:
    """A text with labelled spans. Immutable; spans are sorted and unique.

    Attributes:
        text: the original text, never changed.
        spans: the labels, in characters. They may overlap; writing them to a format without
            overlaps is an error.
        given_words: the word offsets if the input was already split into words, else `None`.
        id: a name that is unique in its corpus, or empty.
        gold: human labels in addition to distant ones, for evaluation and analysis. Training
            ignores them unless asked.
        meta: all other fields of the document.
    """

    text: str
    spans: tuple[Span, ...] = ()
    given_words: tuple[Word, ...] | None = _LazyGivenWords()  # type: ignore[assignment]
    id: str = ""
    gold: tuple[Span, ...] | None = None
    meta: Mapping[str, Any] = field(default_factory=lambda: NO_META, hash=False)

    _edges: ClassVar[tuple[Sequence[int], Sequence[int]] | None] = None  # computed on first use
    _given_texts: ClassVar[tuple[str, ...] | None] = None  # the words themselves, if made by `from_words`
    _word_spans: ClassVar[tuple[WordSpan, ...] | None] = None  # the spans in words, if given in words
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
        """Make a document from words joined by single spaces; `spans` and `gold` are in words."""
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
        document = cls._unchecked(fields)
        if spans:
            fields["spans"], fields["_word_spans"] = document._in_both_units(spans)  # noqa: SLF001
        if gold is not None:
            fields["gold"], fields["_gold_word_spans"] = document._in_both_units(gold)  # noqa: SLF001
        return document

    @classmethod
    def _unchecked(cls, fields: dict[str, Any]) -> Self:
        """Make a document from fields that are known to be valid."""
        document = object.__new__(cls)
        object.__setattr__(document, "__dict__", fields)
        return document

    @property
    def words(self) -> tuple[Word, ...]:
        """The word offsets: the given ones, else those of the word splitter."""
        return self._split_words if self.given_words is None else self.given_words

    @cached_property
    def _split_words(self) -> tuple[Word, ...]:
        return split_words(self.text)

    @property
    def edges(self) -> tuple[Sequence[int], Sequence[int]]:
        """The start offsets of all words, and their end offsets."""
        if self._edges is None:  # not a cached_property, which takes a lock for every document
            vars(self)["_edges"] = self._compute_edges()
        return self._edges  # type: ignore[return-value]

    def _compute_edges(self) -> tuple[Sequence[int], Sequence[int]]:
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
    def is_space_joined(self) -> bool:
        """Whether the text is its words joined by single spaces."""
        return self._given_texts is not None or " ".join(self.word_texts) == self.text

    def surface(self, span: Span) -> str:
        return self.text[span.start : span.end]

    @property
    def word_spans(self) -> tuple[WordSpan, ...]:
        """The spans in words.

        A span that covers part of a word covers the word; spans without a word are left out.
        """
        return self._to_word_spans(self.spans) if self._word_spans is None else self._word_spans

    @property
    def gold_word_spans(self) -> tuple[WordSpan, ...] | None:
        """The gold spans in words, converted in the same way."""
        if self.gold is None:
            return None
        return self._to_word_spans(self.gold) if self._gold_word_spans is None else self._gold_word_spans

    def _in_both_units(self, spans: Iterable[tuple[int, int, str]]) -> tuple[tuple[Span, ...], tuple[WordSpan, ...]]:
        """Return spans given in words in characters and in words, both sorted and unique."""
        in_words = _in_order(tuple([WordSpan(*span) for span in spans]))
        return (_to_character_spans(in_words, self.edges) if in_words else ()), in_words

    def _to_word_spans(self, spans: Sequence[Span]) -> tuple[WordSpan, ...]:
        word_spans = {
            WordSpan(first, last, span.label)
            for span in spans
            for first, last in [self._overlapped_words(span)]
            if first < last
        }
        return tuple(sorted(word_spans))

    def _overlapped_words(self, span: Span) -> tuple[int, int]:
        """Return the half-open range of words that share a character with a span."""
        starts, ends = self.edges
        return bisect_right(ends, span.start), bisect_left(starts, span.end)

    @property
    def spans_fit_words(self) -> bool:
        """Whether all spans and gold spans start and end at word boundaries."""
        unchecked = self.spans if self._word_spans is None else ()
        if self.gold and self._gold_word_spans is None:
            unchecked += self.gold
        if not unchecked:
            return True
        starts, ends = self.edges
        for span in unchecked:
            first, last = self._overlapped_words(span)
            if first >= last or starts[first] != span.start or ends[last - 1] != span.end:
                return False
        return True

    def with_spans(self, spans: Iterable[Span], gold: Iterable[Span] | None) -> Self:
        """Return the document with other spans. Fast, since its words are not checked again."""
        gold = None if gold is None else _checked(gold, self.text)
        fields = {**vars(self), "spans": _checked(spans, self.text), "gold": gold}
        return self._unchecked({**fields, "_word_spans": None, "_gold_word_spans": None})

    def bare(self) -> Self:
        """Return the document without labels."""
        return self.with_spans((), None)

    def with_gold(self) -> Self:
        """Return the document with its gold spans as its spans.

        A document without separate gold spans is returned as it is: its spans are taken to be gold.
        """
        return self if self.gold is None else self.with_spans(self.gold, None)

    def relabelled(self, spans: Iterable[tuple[int, int, str]], *, keep: bool) -> Self:
        """Return the document with other spans, given in words.

        With `keep`, the previous spans become the gold spans, unless the document already has gold
        spans.
        """
        in_characters, in_words = self._in_both_units(spans)
        fields = {**vars(self), "spans": in_characters, "_word_spans": in_words}
        if keep and self.gold is None:
            fields["gold"], fields["_gold_word_spans"] = self.spans, self._word_spans
        return self._unchecked(fields)

    def with_meta(self, meta: Mapping[str, Any]) -> Self:
        """Return the document with other metadata."""
        return self._unchecked({**vars(self), "meta": meta})

    def split_at_spans(self) -> Self:
        """Return the document with words split wherever a span starts or ends inside one."""
        edges = sorted({edge for span in self.spans + (self.gold or ()) for edge in span[:2]})
        words: list[Word] = []
        for start, end in self.words:
            cuts = [start, *(edge for edge in edges if start < edge < end), end]
            words.extend(Word(*pair) for pair in pairwise(cuts))
        return replace(self, given_words=tuple(words))

    def widen_spans(self) -> Self:
        """Return the document with spans widened to whole words and trimmed of white space."""

        def widened(spans: Sequence[Span]) -> tuple[Span, ...]:
            return _to_character_spans(self._to_word_spans(spans), self.edges)

        return replace(self, spans=widened(self.spans), gold=None if self.gold is None else widened(self.gold))

    @property
    def first_overlap(self) -> tuple[Span, Span] | None:
        """Two spans, or two gold spans, that share a character; `None` if there are none."""
        for spans in (self.spans, self.gold or ()):
            for one, other in pairwise(spans):
                if other.start < one.end:
                    return one, other
        return None


def _to_character_spans(
    spans: Iterable[tuple[int, int, str]], edges: tuple[Sequence[int], Sequence[int]]
) -> tuple[Span, ...]:
    """Convert spans in words to spans in characters."""
    character_spans = []
    starts, ends = edges
    for start, end, label in spans:
        if not 0 <= start < end <= len(starts):
            raise ValueError(_range_error(start, end, label, f"its document of {len(starts)} words"))
        if not label:
            raise ValueError(f"span {start}–{end} has an empty label")
        character_spans.append(Span(starts[start], ends[end - 1], label))
    return tuple(character_spans)


def _checked(spans: Iterable[Span], text: str) -> tuple[Span, ...]:
    """Return spans sorted and unique.

    Raises:
        ValueError: a span lies outside the text, is empty, or has no label.
    """
    spans = tuple(spans)
    if not spans:
        return spans
    length = len(text)
    for start, end, label in spans:
        if not 0 <= start < end <= length:
            raise ValueError(_range_error(start, end, label, f"its text of {len(text)} characters"))
        if not label:
            raise ValueError(f"span {start}–{end} has an empty label")
    return _in_order(spans)


def _in_order(spans: tuple[AnySpan, ...]) -> tuple[AnySpan, ...]:
    return spans if len(spans) < 2 or all(map(lt, spans, spans[1:])) else tuple(sorted(set(spans)))


def _range_error(start: int, end: int, label: str, where: str) -> str:
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
