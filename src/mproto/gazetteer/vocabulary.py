"""Encode words as codes of two characters, so that string search finds whole words.

The first and the second character of a code come from separate ranges. A pattern of codes
therefore matches only whole words, with any characters. An offset in a string of codes
is twice the index of the word.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

WIDTH = 2
FIRST, SECOND, BASE = 0x10000, 0x4E00, 4096
"""The lowest first character, the lowest second character, and the number of second characters."""
UNKNOWN = "\0\0"
"""The code of all words that do not occur in a pattern."""
MAX_DICTIONARY = 100_000
"""Vocabularies of at most this many words are looked up in a dictionary, which is faster."""
CACHE_SIZE = 1_000_000
"""The maximum number of cached words."""


def code(number: int) -> str:
    """Return the code of the word with this number, counted from 0."""
    return chr(FIRST + number // BASE) + chr(SECOND + number % BASE)


class Vocabulary(NamedTuple):
    """Words and their numbers, in flat arrays, which load much faster than a large dictionary.

    Attributes:
        letters: all words, sorted and concatenated.
        ends: the end of each word in `letters`.
        numbers: the number of each word.
    """

    letters: str
    ends: array[int]
    numbers: array[int]

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> Vocabulary:
        words = sorted(numbers)
        ends, position = array("I"), 0
        for word in words:
            position += len(word)
            ends.append(position)
        return cls("".join(words), ends, array("I", map(numbers.__getitem__, words)))

    def code(self, word: str) -> str:
        """Return the code of a word, or `UNKNOWN`."""
        index = bisect_left(range(len(self.ends)), word, key=self._word)
        is_known = index < len(self.ends) and self._word(index) == word
        return code(self.numbers[index]) if is_known else UNKNOWN

    def codes(self) -> Iterator[tuple[str, str]]:
        """Return all words with their codes."""
        return ((self._word(index), code(number)) for index, number in enumerate(self.numbers))

    def _word(self, index: int) -> str:
        return self.letters[self.ends[index - 1] if index else 0 : self.ends[index]]


class Codes(dict[str, str]):
    """Cached codes of words as they are written in texts.

    Args:
        vocabulary: the codes.
        prepare: normalises a word before its lookup.
    """

    def __init__(self, vocabulary: Vocabulary, prepare: Callable[[str], str]) -> None:
        super().__init__()
        self._prepare = prepare
        self._find = vocabulary.code
        if len(vocabulary.ends) <= MAX_DICTIONARY:
            codes = dict(vocabulary.codes())
            self._find = lambda word: codes.get(word, UNKNOWN)

    def __missing__(self, word: str) -> str:
        if len(self) >= CACHE_SIZE:
            self.clear()
        result = self[word] = self._find(self._prepare(word))
        return result
