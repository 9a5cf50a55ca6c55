"""Find patterns in a string of word codes (`vocabulary.py`).

Uses a daachorse automaton, or a trie in plain Python if daachorse is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mproto.gazetteer.vocabulary import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

Hits = list[tuple[int, int, int]]
"""For each hit: start and end in the string of codes, and the pattern's number."""


class Automaton(Protocol):
    """Finds the patterns it was built from."""

    def find(self, codes: str) -> Hits:
        """Return the leftmost longest hits, from left to right, without overlaps."""


def build(patterns: Sequence[str]) -> Automaton:
    """Build an automaton from distinct patterns of codes."""
    try:
        return DoubleArray.build(patterns)
    except ImportError:
        return Trie(patterns)


class DoubleArray:
    """A double-array Aho–Corasick automaton in Rust.

    Its cost per word hardly depends on the number of patterns.
    """

    def __init__(self, automaton: Any) -> None:
        self._automaton = automaton
        self.find: Callable[[str], Hits] = automaton.find

    @classmethod
    def build(cls, patterns: Sequence[str]) -> Self:
        import daachorse

        longest = daachorse.MATCH_KIND_LEFTMOST_LONGEST
        return cls(daachorse.CharwiseDoubleArrayAhoCorasick(list(patterns), longest))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore an automaton from the output of `to_bytes`.

        Raises:
            ValueError: the data are damaged.
        """
        import daachorse

        return cls(daachorse.CharwiseDoubleArrayAhoCorasick.deserialize(data))

    def to_bytes(self) -> bytes:
        data: bytes = self._automaton.serialize()
        return data


class Trie:
    """The same search in plain Python, with nested dictionaries of codes."""

    END = ""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._root: dict[str, Any] = {}
        for number, pattern in enumerate(patterns):
            node = self._root
            for i in range(0, len(pattern), WIDTH):
                node = node.setdefault(pattern[i : i + WIDTH], {})
            node[self.END] = number

    def find(self, codes: str) -> Hits:
        hits: Hits = []
        position = 0
        while position < len(codes):
            number, end = self._longest(codes, position)
            if number >= 0:
                hits.append((position, end, number))
            position = end if number >= 0 else position + WIDTH
        return hits

    def _longest(self, codes: str, start: int) -> tuple[int, int]:
        """Return the number and end of the longest pattern at `start`; -1 if there is none."""
        node = self._root
        number, end = -1, start
        for i in range(start, len(codes), WIDTH):
            if (child := node.get(codes[i : i + WIDTH])) is None:
                break
            node = child
            if self.END in node:
                number, end = node[self.END], i + WIDTH
        return number, end
