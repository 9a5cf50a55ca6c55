"""Finding patterns in a string of codes (`vocabulary.py`): a daachorse automaton, or a plain trie where that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mproto.gazetteer.vocabulary import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

Found = list[tuple[int, int, int]]
"""Start and end in the string of codes, and the number of the pattern."""


class Automaton(Protocol):
    """What a matcher needs."""

    def find(self, codes: str) -> Found:
        """The longest pattern at the leftmost place, and so on behind it."""


def build(patterns: Sequence[str]) -> Automaton:
    """An automaton for patterns of codes, each different from the others."""
    try:
        return DoubleArray.build(patterns)
    except ImportError:
        return Trie(patterns)


class DoubleArray:
    """A double-array Aho–Corasick automaton in Rust, whose cost per word hardly grows with the number of patterns."""

    def __init__(self, automaton: Any) -> None:
        self._automaton = automaton
        self.find: Callable[[str], Found] = automaton.find

    @classmethod
    def build(cls, patterns: Sequence[str]) -> Self:
        import daachorse

        longest = daachorse.MATCH_KIND_LEFTMOST_LONGEST
        return cls(daachorse.CharwiseDoubleArrayAhoCorasick(list(patterns), longest))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From what `to_bytes` gave.

        Raises:
            ValueError: the data are damaged.
        """
        import daachorse

        return cls(daachorse.CharwiseDoubleArrayAhoCorasick.deserialize(data))

    def to_bytes(self) -> bytes:
        data: bytes = self._automaton.serialize()
        return data


class Trie:
    """The same in plain Python: nested dictionaries of codes."""

    END = ""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._root: dict[str, Any] = {}
        for number, pattern in enumerate(patterns):
            node = self._root
            for i in range(0, len(pattern), WIDTH):
                node = node.setdefault(pattern[i : i + WIDTH], {})
            node[self.END] = number

    def find(self, codes: str) -> Found:
        found: Found = []
        position = 0
        while position < len(codes):
            number, end = self._longest(codes, position)
            if number >= 0:
                found.append((position, end, number))
            position = end if number >= 0 else position + WIDTH
        return found

    def _longest(self, codes: str, start: int) -> tuple[int, int]:
        """The number of the longest pattern here and where it ends, or a negative number."""
        node = self._root
        number, end = -1, start
        for i in range(start, len(codes), WIDTH):
            if (child := node.get(codes[i : i + WIDTH])) is None:
                break
            node = child
            if self.END in node:
                number, end = node[self.END], i + WIDTH
        return number, end
