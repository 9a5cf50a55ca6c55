r"""Finding patterns of whole words in a sentence: a daachorse automaton, or a plain trie where that is not installed.

A sentence is one string in which every word stands between marks, `\x01word\x02`, and so is every pattern. So a match
always starts and ends at word boundaries, whatever the words hold, and one pass finds the longest pattern at each place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

BEGIN, END = "\x01", "\x02"
BETWEEN = END + BEGIN

Found = list[tuple[int, int, int]]
"""Start and end in the marked string, and the number of the pattern."""


def mark(words: Sequence[str]) -> str:
    """Words between marks. Marks inside words, which no sane text holds, are taken out."""
    marked = BEGIN + BETWEEN.join(words) + END
    if marked.count(BEGIN) + marked.count(END) != 2 * len(words):
        words = [word.replace(BEGIN, "�").replace(END, "�") for word in words]
        marked = BEGIN + BETWEEN.join(words) + END
    return marked


class Automaton(Protocol):
    """What a matcher needs."""

    def find(self, marked: str) -> Found:
        """The longest pattern at the leftmost place, and so on behind it."""


def build(patterns: Sequence[str]) -> Automaton:
    """An automaton for marked patterns, each different from the others."""
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
    """The same in plain Python: nested dictionaries of words."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._root: dict[str, dict[str, object]] = {}
        for number, pattern in enumerate(patterns):
            node: dict[str, object] = self._root  # type: ignore[assignment]
            for word in pattern[1:-1].split(BETWEEN):
                node = node.setdefault(word, {})  # type: ignore[assignment]
            node[END] = number

    def find(self, marked: str) -> Found:
        words = marked[1:-1].split(BETWEEN)
        starts = [0]
        for word in words:
            starts.append(starts[-1] + len(word) + 2)
        found: Found = []
        position = 0
        while position < len(words):
            number, end = self._longest(words, position)
            if number >= 0:
                found.append((starts[position], starts[end], number))
            position = end if number >= 0 else position + 1
        return found

    def _longest(self, words: Sequence[str], start: int) -> tuple[int, int]:
        """The number of the longest pattern here and where it ends, or a negative number."""
        node: dict[str, object] | None = self._root  # type: ignore[assignment]
        number, end = -1, start
        for i in range(start, len(words)):
            node = node.get(words[i])  # type: ignore[union-attr, assignment]
            if node is None:
                break
            if END in node:
                number, end = node[END], i + 1  # type: ignore[assignment]
        return number, end
