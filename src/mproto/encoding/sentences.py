"""Where sentences end, as far as single words tell: where a long text is best split.

A wrong end costs little, some words of context, and a missed one less: texts have enough of them. So what is told is what
is clear: a full stop, a question or exclamation mark, with closing quotes and brackets, unless a small letter follows, or
what is before a full stop may be an abbreviation (`Dr.`, `J.`, `U.S.`, `No.`).
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
_SHORT = 3
"""Letters of what may be an abbreviation, where one of them is a capital."""


def sentence_ends(words: Sequence[str]) -> list[int]:
    """The numbers of words up to the end of each sentence that is followed by another, in rising order."""
    ends = []
    count = len(words)
    for place, word in enumerate(words):
        stop = _STOP.fullmatch(word)
        if stop is None:
            continue
        before = stop[1] or (words[place - 1] if place else "")
        if stop[2] == "." and _may_be_short(before):
            continue
        end = place + 1
        while end < count and _CLOSED.fullmatch(words[end]):
            end += 1
        if end < count and not words[end][0].islower() and words[end][0] not in _STOPS:
            ends.append(end)
    return ends


def _may_be_short(word: str) -> bool:
    return "." in word or (len(word) <= _SHORT and not word.islower() and any(map(str.isalpha, word)))
