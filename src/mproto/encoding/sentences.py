"""Find sentence ends in a list of words. Long texts are split there.

The rules look at single words only. A wrong sentence end costs a few words of context, and a missed
one costs less, so the rules accept only clear cases: a full stop, question mark or exclamation
mark, with any closing quotes and brackets. It is not a sentence end if a lower-case letter follows,
or if the word before a full stop may be an abbreviation (`Dr.`, `J.`, `U.S.`, `No.`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLOSING = "\"'”’»)\\]}"
_STOPS = ".!?…。！？"
_STOP = re.compile(rf"(.*?)([{_STOPS}]+)[{_CLOSING}]*", re.DOTALL)
_CLOSED = re.compile(rf"[{_CLOSING}]+|''")
_MAX_ABBREVIATION = 3
"""A word of at most this many letters may be an abbreviation if it has a capital."""


def sentence_ends(words: Sequence[str]) -> list[int]:
    """Return the end (exclusive, in words) of each sentence but the last, in ascending order."""
    ends = []
    count = len(words)
    for index, word in enumerate(words):
        stop = _STOP.fullmatch(word)
        if stop is None:
            continue
        before = stop[1] or (words[index - 1] if index else "")
        if stop[2] == "." and _may_be_abbreviation(before):
            continue
        end = index + 1
        while end < count and _CLOSED.fullmatch(words[end]):
            end += 1
        if end < count and not words[end][0].islower() and words[end][0] not in _STOPS:
            ends.append(end)
    return ends


def _may_be_abbreviation(word: str) -> bool:
    return "." in word or (len(word) <= _MAX_ABBREVIATION and not word.islower() and any(map(str.isalpha, word)))
