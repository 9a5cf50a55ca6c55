"""Words as codes of two characters, so that a sentence is a short string in which boundaries cannot be missed.

The code of a word is one character that only stands first and one that only stands second. A pattern of codes can
therefore match another string of codes at whole words alone, whatever the words hold, and places in that string are
places in the sentence, times two.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

WIDTH = 2
FIRST, SECOND, BASE = 0x10000, 0x4E00, 4096
"""Where the characters that stand first begin, those that stand second, and how many of these there are."""
UNKNOWN = "\0\0"
"""The code of every word that no pattern has."""
SMALL = 100_000
"""A vocabulary of so many words is worth a dictionary of its own."""
REMEMBERED = 1_000_000
"""As many words of texts keep their codes at hand."""


def code(number: int) -> str:
    """The code of the word with a number from 0."""
    return chr(FIRST + number // BASE) + chr(SECOND + number % BASE)


class Vocabulary(NamedTuple):
    """Words and their numbers in flat arrays, which load in no time where a dictionary of a million words does not.

    Attributes:
        letters: all words, sorted, one behind the other.
        ends: where each of them ends.
        numbers: the number of each.
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
        """The code of a word, or `UNKNOWN`."""
        place = bisect_left(range(len(self.ends)), word, key=self._word)
        known = place < len(self.ends) and self._word(place) == word
        return code(self.numbers[place]) if known else UNKNOWN

    def codes(self) -> Iterator[tuple[str, str]]:
        """All words with their codes."""
        return ((self._word(place), code(number)) for place, number in enumerate(self.numbers))

    def _word(self, place: int) -> str:
        return self.letters[self.ends[place - 1] if place else 0 : self.ends[place]]


class Codes(dict[str, str]):
    """Codes of words as texts write them, each worked out once: texts repeat their words."""

    def __init__(self, vocabulary: Vocabulary, prepare: Callable[[str], str]) -> None:
        super().__init__()
        self._prepare = prepare
        self._find = vocabulary.code
        if len(vocabulary.ends) <= SMALL:
            known = dict(vocabulary.codes())
            self._find = lambda word: known.get(word, UNKNOWN)

    def __missing__(self, word: str) -> str:
        if len(self) >= REMEMBERED:
            self.clear()
        found = self[word] = self._find(self._prepare(word))
        return found
