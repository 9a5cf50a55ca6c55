"""Longest match of a gazetteer's terms over all types in one pass."""

from __future__ import annotations

from array import array
from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from mproto.errors import InputError
from mproto.gazetteer import cache
from mproto.gazetteer.automaton import build
from mproto.gazetteer.forms import fits, folds_case, forms, keeps_case, needs_capitals, normalise
from mproto.gazetteer.options import MatchOptions
from mproto.gazetteer.vocabulary import REMEMBERED, WIDTH, Codes, Vocabulary, code
from mproto.text.document import WordSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mproto.gazetteer import automaton
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
        longest: the number of words of the longest.
    """

    entries: array[int]
    ends: array[int]
    labels: array[int]
    longest: int


class Compiled(NamedTuple):
    """A gazetteer made ready."""

    automaton: Automaton
    patterns: Patterns
    vocabulary: Vocabulary


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
        if unknown := sorted((options.names or frozenset()) - set(self._types)):
            hint = f"choose from {', '.join(self._types)}"
            raise InputError(f"{unknown[0]!r} is to be a type of names, and no type of the gazetteer", hint=hint)
        compiled = cache.load(cache_folder, gazetteer, options) if cache_folder else None
        if not compiled:
            codes, patterns, vocabulary = compile_patterns(gazetteer, options)
            compiled = Compiled(build(codes), patterns, vocabulary)
            if cache_folder:
                cache.save(cache_folder, gazetteer, options, compiled)
        self._automaton, self._patterns, vocabulary = compiled
        fold = folds_case(gazetteer, options)

        def prepare(word: str) -> str:
            word = normalise(word, options.normalise)
            return word.casefold() if fold else word

        self._code = Codes(vocabulary, prepare).__getitem__
        self._heed_case()

    def with_names(self, names: frozenset[str]) -> Matcher:
        """The same matcher, by the same automaton, with other types for names."""
        other = copy(self)
        other.options = replace(self.options, names=names)
        other._heed_case()  # noqa: SLF001 (it is one of us)
        return other

    def _heed_case(self) -> None:
        """Let patterns with names among their entries be looked at."""
        patterns, names = self._patterns, self.options.names
        self._labels = patterns.labels
        self._fitting = lru_cache(REMEMBERED)(self._find_fitting)
        if names:
            is_name = bytes(needs_capitals(entry, self.options) for entry in self.gazetteer.entries)
            starts = chain((0,), patterns.ends)
            self._labels = array(
                "i",
                (
                    CHECK if any(is_name[i] for i in patterns.entries[start:end]) else label
                    for start, end, label in zip(starts, patterns.ends, patterns.labels, strict=False)
                ),
            )

    def word_spans(self, document: Document) -> tuple[WordSpan, ...]:
        """The labels that the terms give a document, in words."""
        texts = document.word_texts
        codes = "".join(map(self._code, texts))
        found = self._automaton.find(codes)
        if not found:
            return ()
        types = self._types
        labels = [self._labels[number] for _, _, number in found]
        if CHECK in labels:
            return tuple(self._checked_spans(texts, codes, found))
        return tuple(
            [
                WordSpan(first // WIDTH, last // WIDTH, types[label])
                for (first, last, _), label in zip(found, labels, strict=True)
                if label >= 0
            ]
        )

    def _checked_spans(self, texts: Sequence[str], codes: str, hits: automaton.Found) -> Iterator[WordSpan]:
        for start, end, number, entries in self._checked(texts, codes, hits):
            label = self._labels[number]
            names = [self._types[label]] if label >= 0 else []
            if label == CHECK:
                names = resolve([entry.type for entry in entries or ()], self.options)
            for name in names:
                yield WordSpan(start, end, name)

    def matches(self, words: Sequence[str]) -> list[Match]:
        """All matches in a sequence of words, with the entries behind each; ambiguous ones too."""
        codes = "".join(map(self._code, words))
        return [
            Match(start, end, tuple(self._entries(number) if entries is None else entries))
            for start, end, number, entries in self._checked(words, codes, self._automaton.find(codes))
        ]

    def _checked(self, words: Sequence[str], codes: str, hits: automaton.Found) -> list[Found]:
        """What the automaton found, where it fits the case of the words too."""
        labels = self._labels
        found: list[Found] = []
        done = 0  # every word before this one has been dealt with
        for first, last, number in hits:
            start, end = first // WIDTH, last // WIDTH
            if start < done:  # a second look ran into this match
                done = self._look_again(words, codes, done, end, found)
            elif labels[number] != CHECK:
                found.append((start, end, number, None))
                done = end
            elif entries := self._fitting(number, "".join(words[start:end])):
                found.append((start, end, number, entries))
                done = end
            else:
                done = end if end == start + 1 else self._look_again(words, codes, start, end, found)
        return found

    def _look_again(self, words: Sequence[str], codes: str, start: int, stop: int, found: list[Found]) -> int:
        """Match word by word where the longest pattern's case did not fit: a shorter one may, or one that starts later."""
        while start < stop:
            match = self._longest_fitting(words, codes, start)
            if match:
                found.append(match)
            start = match[1] if match else start + 1
        return start

    def _longest_fitting(self, words: Sequence[str], codes: str, start: int) -> Found | None:
        end = min(len(words), start + self._patterns.longest)
        while end > start:
            found = self._automaton.find(codes[start * WIDTH : end * WIDTH])
            if not found or found[0][0] != 0:
                return None
            _, last, number = found[0]
            end = start + last // WIDTH
            if entries := self._fitting(number, "".join(words[start:end])):
                return start, end, number, entries
            end -= 1
        return None

    def _entries(self, number: int) -> list[Entry]:
        ends, entries = self._patterns.ends, self.gazetteer.entries
        places = range(ends[number - 1] if number else 0, ends[number])
        return [entries[self._patterns.entries[i]] for i in places]

    def _find_fitting(self, number: int, written: str) -> list[Entry]:
        """The entries of a pattern that fit its words as they are written; those are given without blanks."""
        return [entry for entry in self._entries(number) if fits(entry, written, self.options)]


def resolve(types: Iterable[str], options: MatchOptions) -> list[str]:
    """The labels that entries of these types give together."""
    distinct = list(dict.fromkeys(types))
    if len(distinct) == 1:
        return distinct
    for strongest in options.priority:
        if strongest in distinct:
            return [strongest]
    return {"drop": [], "first": distinct[:1], "keep-all": distinct}[options.ambiguous]


def compile_patterns(gazetteer: Gazetteer, options: MatchOptions) -> tuple[list[str], Patterns, Vocabulary]:
    """The forms of all entries in codes, what each stands for, and the words behind the codes."""
    words: dict[str, str] = {}
    numbers: dict[str, int] = {}
    first, further = array("I"), dict[int, list[int]]()  # of each pattern: its first entry, and those after that
    fold = folds_case(gazetteer, options)
    stop = {normalise(term, options.normalise).casefold() for term in options.stop}
    exact_options = MatchOptions(normalise=options.normalise)
    for i, entry in enumerate(gazetteer.entries):
        if len(entry.surface) < options.min_length or (stop and entry.surface.casefold() in stop):
            continue
        for form in forms(entry.surface, exact_options if keeps_case(entry, options) else options, fold=fold):
            codes = "".join([words.get(word) or words.setdefault(word, code(len(words))) for word in form])
            number = numbers.setdefault(codes, len(numbers))
            if number == len(first):
                first.append(i)
            else:
                further.setdefault(number, []).append(i)
    entries, ends, labels = array("I"), array("I"), array("i")
    type_numbers = {name: number for number, name in enumerate(gazetteer.types)}
    for number, i in enumerate(first):
        found = [i, *further.get(number, ())]
        entries.extend(found)
        ends.append(len(entries))
        of_pattern = [gazetteer.entries[i] for i in found]
        must_check = fold and any(keeps_case(entry, options) for entry in of_pattern)
        labels.append(CHECK if must_check else _label(of_pattern, type_numbers, options))
    longest = max(map(len, numbers), default=0) // WIDTH
    vocabulary = Vocabulary.of({word: number for number, word in enumerate(words)})
    return list(numbers), Patterns(entries, ends, labels, longest), vocabulary


def _label(entries: list[Entry], numbers: dict[str, int], options: MatchOptions) -> int:
    resolved = resolve([entry.type for entry in entries], options)
    return numbers[resolved[0]] if len(resolved) == 1 else CHECK if resolved else NO_LABEL
