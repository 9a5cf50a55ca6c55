"""Longest match of terms in a sequence of words: a plain trie."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mproto.text.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mproto.gazetteer.readers import Entry

SHORT = 3
"""Terms of at most so many characters keep their case: `ice` is not `ICE`."""


class Match(NamedTuple):
    """Entries whose words are `words[start:end]`."""

    start: int
    end: int
    entries: tuple[Entry, ...]


class _Node:
    __slots__ = ("children", "entries")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.entries: list[tuple[tuple[str, ...] | None, Entry]] = []  # words to be equal to, or None for any case


class Trie:
    """Finds the longest term at each place, left to right, without overlaps.

    Letter case does not matter but for terms that are short or all capitals (`MS`, `AIDS`): those match only as written.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._root = _Node()
        for entry in entries:
            words = tuple(entry.surface[start:end] for start, end in split_words(entry.surface))
            node = self._root
            for word in words:
                node = node.children.setdefault(word.casefold(), _Node())
            if words:
                keeps_case = len(entry.surface) <= SHORT or entry.surface.isupper()
                node.entries.append((words if keeps_case else None, entry))

    def matches(self, words: Sequence[str]) -> list[Match]:
        folded = [word.casefold() for word in words]
        found: list[Match] = []
        position = 0
        while position < len(words):
            match = self._longest(words, folded, position)
            if match:
                found.append(match)
            position = match.end if match else position + 1
        return found

    def _longest(self, words: Sequence[str], folded: Sequence[str], start: int) -> Match | None:
        node: _Node | None = self._root
        longest = None
        end = start
        while end < len(folded) and (node := node.children.get(folded[end]) if node else None) is not None:
            end += 1
            fitting = tuple(e for exact, e in node.entries if exact is None or exact == tuple(words[start:end]))
            if fitting:
                longest = Match(start, end, fitting)
        return longest
