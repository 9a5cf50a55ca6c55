"""Find the longest matches of a gazetteer's terms, over all types in one pass."""

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
from mproto.gazetteer.forms import case_fits, folds_case, forms, is_case_sensitive, needs_capitals, normalise
from mproto.gazetteer.options import MatchOptions
from mproto.gazetteer.vocabulary import CACHE_SIZE, WIDTH, Codes, Vocabulary, code
from mproto.text.document import WordSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mproto.gazetteer.automaton import Automaton, Hits
    from mproto.gazetteer.entries import Entry, Gazetteer
    from mproto.text.document import Document

CHECK, NO_LABEL = -2, -1
"""Values in place of a pattern's type.

`CHECK`: its entries must be checked. `NO_LABEL`: it is ambiguous.
"""

CheckedHit = tuple[int, int, int, "list[Entry] | None"]
"""A match: start and end in words, the pattern's number, its entries that fit (`None` for all)."""


class Match(NamedTuple):
    """The entries that match `words[start:end]`."""

    start: int
    end: int
    entries: tuple[Entry, ...]


class Patterns(NamedTuple):
    """The entries behind the automaton's patterns, in flat arrays that load quickly.

    Attributes:
        entries: the entry indices of all patterns, concatenated.
        ends: the end of each pattern's entries in `entries`.
        labels: the type index of each pattern, or `CHECK`, or `NO_LABEL`.
        longest: the number of words of the longest pattern.
    """

    entries: array[int]
    ends: array[int]
    labels: array[int]
    longest: int


class Compiled(NamedTuple):
    """A gazetteer, compiled for matching."""

    automaton: Automaton
    patterns: Patterns
    vocabulary: Vocabulary


class Matcher:
    """Finds a gazetteer's terms in documents: the longest at each position, left to right.

    Args:
        gazetteer: the terms.
        options: how to match.
        cache_folder: a folder that caches the automaton of a large gazetteer; `None` for no cache.
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
            raise InputError(f"{unknown[0]!r} in names is not a type of the gazetteer", hint=hint)
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
        self._set_labels()

    def with_names(self, names: frozenset[str]) -> Matcher:
        """Return a matcher with other name types that shares the automaton."""
        other = copy(self)
        other.options = replace(self.options, names=names)
        other._set_labels()  # noqa: SLF001 (an object of this class)
        return other

    def _set_labels(self) -> None:
        """Set the label of each pattern: `CHECK` for patterns with names among their entries."""
        patterns, names = self._patterns, self.options.names
        self._labels = patterns.labels
        self._fitting_entries = lru_cache(CACHE_SIZE)(self._find_fitting_entries)
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
        """Return the labels of the terms in a document, as word spans."""
        texts = document.word_texts
        codes = "".join(map(self._code, texts))
        hits = self._automaton.find(codes)
        if not hits:
            return ()
        types = self._types
        labels = [self._labels[number] for _, _, number in hits]
        if CHECK in labels:
            return tuple(self._checked_spans(texts, codes, hits))
        return tuple(
            [
                WordSpan(first // WIDTH, last // WIDTH, types[label])
                for (first, last, _), label in zip(hits, labels, strict=True)
                if label >= 0
            ]
        )

    def _checked_spans(self, texts: Sequence[str], codes: str, hits: Hits) -> Iterator[WordSpan]:
        for start, end, number, entries in self._checked(texts, codes, hits):
            label = self._labels[number]
            types = [self._types[label]] if label >= 0 else []
            if label == CHECK:
                types = resolve([entry.type for entry in entries or ()], self.options)
            for type_ in types:
                yield WordSpan(start, end, type_)

    def matches(self, words: Sequence[str]) -> list[Match]:
        """Return all matches in a sequence of words, ambiguous ones too, with their entries."""
        codes = "".join(map(self._code, words))
        return [
            Match(start, end, tuple(self._entries(number) if entries is None else entries))
            for start, end, number, entries in self._checked(words, codes, self._automaton.find(codes))
        ]

    def _checked(self, words: Sequence[str], codes: str, hits: Hits) -> list[CheckedHit]:
        """Return the hits whose letter case fits, with replacements for the others."""
        labels = self._labels
        checked: list[CheckedHit] = []
        done = 0  # all words before this one are done
        for first, last, number in hits:
            start, end = first // WIDTH, last // WIDTH
            if start < done:  # a replacement of an earlier hit overlaps this one
                done = self._match_by_word(words, codes, done, end, checked)
            elif labels[number] != CHECK:
                checked.append((start, end, number, None))
                done = end
            elif entries := self._fitting_entries(number, "".join(words[start:end])):
                checked.append((start, end, number, entries))
                done = end
            else:
                done = end if end == start + 1 else self._match_by_word(words, codes, start, end, checked)
        return checked

    def _match_by_word(self, words: Sequence[str], codes: str, start: int, stop: int, checked: list[CheckedHit]) -> int:
        """Search from each word in turn, where the case of the longest pattern did not fit.

        A shorter pattern may fit, or one that starts later. Matches are added to `checked`.

        Returns:
            The first word that is not done.
        """
        while start < stop:
            match = self._longest_fitting(words, codes, start)
            if match:
                checked.append(match)
            start = match[1] if match else start + 1
        return start

    def _longest_fitting(self, words: Sequence[str], codes: str, start: int) -> CheckedHit | None:
        end = min(len(words), start + self._patterns.longest)
        while end > start:
            hits = self._automaton.find(codes[start * WIDTH : end * WIDTH])
            if not hits or hits[0][0] != 0:
                return None
            _, last, number = hits[0]
            end = start + last // WIDTH
            if entries := self._fitting_entries(number, "".join(words[start:end])):
                return start, end, number, entries
            end -= 1
        return None

    def _entries(self, number: int) -> list[Entry]:
        ends, entries = self._patterns.ends, self.gazetteer.entries
        start = ends[number - 1] if number else 0
        return [entries[i] for i in self._patterns.entries[start : ends[number]]]

    def _find_fitting_entries(self, number: int, written: str) -> list[Entry]:
        """Return the entries of a pattern that may match words in this case; see `case_fits`."""
        return [entry for entry in self._entries(number) if case_fits(entry, written, self.options)]


def resolve(types: Iterable[str], options: MatchOptions) -> list[str]:
    """Return the labels of a term with these types."""
    distinct = list(dict.fromkeys(types))
    if len(distinct) == 1:
        return distinct
    for type_ in options.priority:
        if type_ in distinct:
            return [type_]
    return {"drop": [], "first": distinct[:1], "keep-all": distinct}[options.ambiguous]


def compile_patterns(gazetteer: Gazetteer, options: MatchOptions) -> tuple[list[str], Patterns, Vocabulary]:
    """Return the coded forms of all entries, the entries behind each, and the vocabulary."""
    words: dict[str, str] = {}
    numbers: dict[str, int] = {}
    first, further = array("I"), dict[int, list[int]]()  # the first entry of each pattern, and its other entries
    fold = folds_case(gazetteer, options)
    stop = {normalise(term, options.normalise).casefold() for term in options.stop}
    exact_options = MatchOptions(normalise=options.normalise)
    for i, entry in enumerate(gazetteer.entries):
        if len(entry.surface) < options.min_length or (
            stop and normalise(entry.surface, options.normalise).casefold() in stop
        ):
            continue
        for form in forms(entry.surface, exact_options if is_case_sensitive(entry, options) else options, fold=fold):
            codes = "".join([words.get(word) or words.setdefault(word, code(len(words))) for word in form])
            number = numbers.setdefault(codes, len(numbers))
            if number == len(first):
                first.append(i)
            else:
                further.setdefault(number, []).append(i)
    entries, ends, labels = array("I"), array("I"), array("i")
    type_numbers = {name: number for number, name in enumerate(gazetteer.types)}
    for number, i in enumerate(first):
        indices = [i, *further.get(number, ())]
        entries.extend(indices)
        ends.append(len(entries))
        pattern_entries = [gazetteer.entries[i] for i in indices]
        must_check = fold and any(is_case_sensitive(entry, options) for entry in pattern_entries)
        labels.append(CHECK if must_check else _label(pattern_entries, type_numbers, options))
    longest = max(map(len, numbers), default=0) // WIDTH
    vocabulary = Vocabulary.of({word: number for number, word in enumerate(words)})
    return list(numbers), Patterns(entries, ends, labels, longest), vocabulary


def _label(entries: list[Entry], numbers: dict[str, int], options: MatchOptions) -> int:
    resolved = resolve([entry.type for entry in entries], options)
    return numbers[resolved[0]] if len(resolved) == 1 else CHECK if resolved else NO_LABEL
