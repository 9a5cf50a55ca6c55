"""Longest match of a gazetteer's terms over all types in one pass."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from mproto.gazetteer import cache
from mproto.gazetteer.automaton import BEGIN, build, mark
from mproto.gazetteer.forms import folds_case, forms, keeps_case, normalise
from mproto.gazetteer.options import MatchOptions
from mproto.text.document import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mproto.gazetteer.automaton import Automaton
    from mproto.gazetteer.entries import Entry, Gazetteer
    from mproto.text.document import Document

CHECK, NO_LABEL = -2, -1
"""Instead of a pattern's type: its entries must be looked at; it is ambiguous and gives no label."""


Found = tuple[int, int, int, "list[Entry] | None"]
"""A match: start and end in words, the pattern, and those of its entries that fit where not all of them do."""


class Match(NamedTuple):
    """Entries whose form is `words[start:end]`."""

    start: int
    end: int
    entries: tuple[Entry, ...]


class Patterns(NamedTuple):
    """What the automaton's patterns stand for, in flat arrays that load quickly.

    Attributes:
        entries: the entries of all patterns, one pattern after the other.
        ends: where each pattern's entries end.
        labels: each pattern's type, or `CHECK`, or `NO_LABEL`.
        lengths: the number of words of each pattern.
        longest: the largest of these.
    """

    entries: array[int]
    ends: array[int]
    labels: array[int]
    lengths: array[int]
    longest: int


class Matcher:
    """Finds a gazetteer's terms in documents, the longest at each place, from left to right.

    Args:
        gazetteer: the terms.
        options: how to match.
        cache_folder: where to keep the automaton of a large gazetteer; `None` for nowhere.
    """

    def __init__(
        self,
        gazetteer: Gazetteer,
        options: MatchOptions = MatchOptions(),
        cache_folder: Path | None = None,
    ) -> None:
        self.gazetteer, self.options = gazetteer, options
        self._types = gazetteer.types
        self._folds = folds_case(gazetteer, options)
        self._automaton: Automaton
        self._patterns: Patterns
        loaded = cache.load(cache_folder, gazetteer, options) if cache_folder else None
        if loaded:
            self._automaton, self._patterns = loaded
        else:
            marked, self._patterns = compile_patterns(gazetteer, options)
            self._automaton = build(marked)
            if cache_folder:
                cache.save(cache_folder, gazetteer, options, self._automaton, self._patterns)

    def spans(self, document: Document) -> tuple[Span, ...]:
        """The labels that the terms give a document."""
        words, labels, types = document.words, self._patterns.labels, self._types
        spans = []
        for start, end, number, entries in self._find(document.word_texts):
            label = labels[number]
            if label >= 0:
                spans.append(Span(words[start][0], words[end - 1][1], types[label]))
            elif label == CHECK:
                names = resolve([entry.type for entry in entries or ()], self.options)
                spans += [Span(words[start].start, words[end - 1].end, name) for name in names]
        return tuple(spans)

    def matches(self, words: Sequence[str]) -> list[Match]:
        """All matches in a sequence of words, with the entries behind each; ambiguous ones too."""
        return [
            Match(start, end, tuple(self._entries(number) if entries is None else entries))
            for start, end, number, entries in self._find(words)
        ]

    def _find(self, words: Sequence[str]) -> list[Found]:
        if not words:
            return []
        marked = self._prepare(words)
        count, labels, lengths = marked.count, self._patterns.labels, self._patterns.lengths
        found: list[Found] = []
        done = 0  # every word before this one has been dealt with
        start = end = seen = 0
        for first, last, number in self._automaton.find(marked):
            start = end if first == seen else end + count(BEGIN, seen, first)
            end, seen = start + lengths[number], last
            if start < done:  # a second look ran into this match
                done = self._look_again(words, done, end, found)
            elif labels[number] != CHECK:
                found.append((start, end, number, None))
                done = end
            elif entries := self._fitting(number, words[start:end]):
                found.append((start, end, number, entries))
                done = end
            else:
                done = end if end == start + 1 else self._look_again(words, start, end, found)
        return found

    def _prepare(self, words: Sequence[str]) -> str:
        marked = normalise(mark(words), self.options.normalise)
        return marked.casefold() if self._folds else marked

    def _look_again(self, words: Sequence[str], start: int, stop: int, found: list[Found]) -> int:
        """Match word by word where the longest pattern's case did not fit: a shorter one may, or one that starts later."""
        while start < stop:
            match = self._longest_fitting(words, start)
            if match:
                found.append(match)
            start = match[1] if match else start + 1
        return start

    def _longest_fitting(self, words: Sequence[str], start: int) -> Found | None:
        end = min(len(words), start + self._patterns.longest)
        while end > start:
            marked = self._prepare(words[start:end])
            found = self._automaton.find(marked)
            if not found or found[0][0] != 0:
                return None
            end = start + self._patterns.lengths[found[0][2]]
            if entries := self._fitting(found[0][2], words[start:end]):
                return start, end, found[0][2], entries
            end -= 1
        return None

    def _entries(self, number: int) -> list[Entry]:
        ends, entries = self._patterns.ends, self.gazetteer.entries
        places = range(ends[number - 1] if number else 0, ends[number])
        return [entries[self._patterns.entries[i]] for i in places]

    def _fitting(self, number: int, words: Sequence[str]) -> list[Entry]:
        """The entries of a pattern that fit the words as they are written."""
        written = normalise("".join(words), self.options.normalise)
        return [
            entry
            for entry in self._entries(number)
            if not keeps_case(entry, self.options)
            or written == "".join(normalise(entry.surface, self.options.normalise).split())
        ]


def resolve(types: Iterable[str], options: MatchOptions) -> list[str]:
    """The labels that entries of these types give together."""
    distinct = list(dict.fromkeys(types))
    if len(distinct) == 1:
        return distinct
    for strongest in options.priority:
        if strongest in distinct:
            return [strongest]
    return {"drop": [], "first": distinct[:1], "keep-all": distinct}[options.ambiguous]


def compile_patterns(gazetteer: Gazetteer, options: MatchOptions) -> tuple[list[str], Patterns]:
    """The marked forms of all entries, and what each stands for."""
    numbers: dict[str, list[int]] = {}
    fold = folds_case(gazetteer, options)
    stop = {normalise(term, options.normalise).casefold() for term in options.stop}
    for i, entry in enumerate(gazetteer.entries):
        if len(entry.surface) < options.min_length or (stop and entry.surface.casefold() in stop):
            continue
        exact = keeps_case(entry, options)
        plain = MatchOptions(normalise=options.normalise) if exact and (options.plurals or options.hyphens) else options
        for form in forms(entry.surface, plain, fold=fold):
            numbers.setdefault(mark(form), []).append(i)
    entries, ends, labels = array("I"), array("I"), array("i")
    type_numbers = {name: number for number, name in enumerate(gazetteer.types)}
    for found in numbers.values():
        entries.extend(found)
        ends.append(len(entries))
        of_pattern = [gazetteer.entries[i] for i in found]
        must_check = fold and any(keeps_case(entry, options) for entry in of_pattern)
        labels.append(CHECK if must_check else _label(of_pattern, type_numbers, options))
    lengths = array("I", (marked.count(BEGIN) for marked in numbers))
    return list(numbers), Patterns(entries, ends, labels, lengths, max(lengths, default=0))


def _label(entries: list[Entry], numbers: dict[str, int], options: MatchOptions) -> int:
    resolved = resolve([entry.type for entry in entries], options)
    return numbers[resolved[0]] if len(resolved) == 1 else CHECK if resolved else NO_LABEL
