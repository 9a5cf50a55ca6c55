"""Ids of distinct words.

Words that differ only in case share an id, unless the case of the first letter differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class WordIds:
    """Numbers distinct words: `bank` has one id, `Bank` and `BANK` share another.

    Args:
        spellings: words that get the first ids, in order; `WordIds(ids.spellings)` equals `ids`.

    Attributes:
        spellings: the spelling of each word at its first mention, by id.
    """

    def __init__(self, spellings: Iterable[str] = ()) -> None:
        self._ids: dict[tuple[str, bool], int] = {}
        self.spellings: list[str] = []
        self.add(spellings)

    def __len__(self) -> int:
        return len(self.spellings)

    def add(self, words: Iterable[str]) -> list[int]:
        """Return the ids of words; new words get new ids."""
        ids = []
        for word in words:
            number = self._ids.setdefault(_key(word), len(self._ids))
            if number == len(self.spellings):
                self.spellings.append(word)
            ids.append(number)
        return ids

    def find(self, words: Sequence[str]) -> list[int]:
        """Return the ids of words; unknown words share the id after the last one."""
        return [self._ids.get(_key(word), len(self)) for word in words]


def _key(word: str) -> tuple[str, bool]:
    return word.casefold(), word[:1].islower()
