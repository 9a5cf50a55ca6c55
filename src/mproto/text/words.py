"""Split text into words without losing a character.

A word is a pair of offsets; what lies between two words is a gap (white space and control characters). Words and gaps
joined give back the text, for every string. The rules, in order:

- Addresses (`https://…`, `a@b.org`) and dotted letters (`U.S.`, `e.g.`) are one word.
- Letters, digits and combining marks run together; so do numbers with inner `.`, `,` or `:` (`3.5`, `1,000`, `10:30`).
- An apostrophe between letters stays inside (`O'Brien`), but a possessive is a word of its own (`Parkinson` `'s`), so that
  *aspirin's* still holds the term *aspirin*.
- A hyphen stays inside where one side holds a digit or is a single letter (`IL-2`, `5-HT3`, `22-oxacalcitriol`, `L-dopa`)
  and splits otherwise (`aspirin` `-` `induced`). It also splits before participles and their like (`IL-2` `-` `induced`,
  `19` `-` `year` `-` `old`), which are never part of a name.
- Chinese characters and kana stand alone; an emoji with its modifiers is one word, a flag too.
- Any other character is a word, and a run of one of `. - = * ~ _ ! ?` is one word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple


class Word(NamedTuple):
    """A word's place in its text: `text[start:end]`."""

    start: int
    end: int


HYPHENS = "-‐‑"
_HYPHENS = frozenset(HYPHENS)
_APOSTROPHE = "['’]"
_CJK = "぀-ヿ㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"
_NOT_PART_OF_A_NAME = re.compile(
    r"[a-z]*(?:ed|ing|ent|ant|ive)|like|free|year|years|day|days|week|weeks|month|months|hour|hours|old|fold|dose",
    re.IGNORECASE,
)


@cache
def _pattern() -> re.Pattern[str]:
    """Built on first use: `re` has no class for combining marks, so theirs is made from the Unicode tables."""
    glue = "".join(_ranges([c for c in range(0x300, 0x20000) if unicodedata.category(chr(c)).startswith("M")]))
    glue += "\u00ad\u200c\u200d\U000e0100-\U000e01ef"  # soft hyphen, (non-)joiners, variation selectors
    letters = rf"(?:[^\W{_CJK}]++|[{glue}]++)"
    part = rf"(?:\d++(?:[.,:]\d++)++{letters}*+|(?=\w){letters}++)(?:{_APOSTROPHE}(?![sS]\b){letters}++)*+"
    return re.compile(
        rf"""
        (?P<address> https?://[^\s<>"]*[\w/] | (?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++ )
      | (?P<dotted>  (?<!\w)(?:[^\W\d_]\.){{2,}} )
      | (?P<chain>   {part}(?:[{HYPHENS}]{part})*+ )
      | (?P<owner>   (?<=\w){_APOSTROPHE}[sS]\b )
      | (?P<cjk>     [{_CJK}][{glue}]*+ )
      | (?P<flag>    [\U0001f1e6-\U0001f1ff]{{2}} )
      | (?P<run>     ([.\-=*~_!?])\8++ )
      | (?P<other>   [^\s\x00-\x1f\x7f-\x9f](?:\u200d[^\s\w]|[{glue}\U0001f3fb-\U0001f3ff])*+ )
        """,
        re.VERBOSE,
    )


def _ranges(codes: list[int]) -> list[str]:
    """Code points as the inside of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return [f"{chr(first)}-{chr(last)}" for first, last in ranges]


@lru_cache(maxsize=1)  # one document is often asked for twice in a row
def split_words(text: str) -> tuple[Word, ...]:
    """Word offsets of a text, in order; see the rules at the top of this file."""
    words: list[Word] = []
    position = 0
    for chunk in text.split(" "):  # no rule looks across a blank, so each piece between blanks is split on its own
        behind = position + len(chunk)
        if chunk.isascii() and chunk.isalnum():
            words.append(_new_word(Word, (position, behind)))
        else:
            for start, end in _split_chunk(chunk) if len(chunk) > _LONG else _split_known_chunk(chunk):
                words.append(_new_word(Word, (position + start, position + end)))
        position = behind + 1
    return tuple(words)


def _split_chunk(text: str) -> tuple[Word, ...]:
    words: list[Word] = []
    for match in _pattern().finditer(text):
        start, end = match.span()
        if match.lastgroup == "chain" and not _HYPHENS.isdisjoint(match[0]):
            words.extend(_split_chain(text, start, end))
        else:
            words.append(Word(start, end))
    return tuple(words)


_LONG = 40
"""Pieces of more characters are hardly met twice; what is remembered stays small without them."""
_split_known_chunk = lru_cache(maxsize=1 << 12)(_split_chunk)
_new_word = tuple.__new__  # a fraction of what calling `Word` costs, for every word of a corpus


def _split_chain(text: str, start: int, end: int) -> list[Word]:
    """Cut a chain of parts at the hyphens that do not belong to a name."""
    hyphens = [i for i in range(start, end) if text[i] in _HYPHENS]
    starts, ends = [start, *(i + 1 for i in hyphens)], [*hyphens, end]
    words = []
    word_start = start
    for i, hyphen in enumerate(hyphens):
        left, right = text[starts[i] : ends[i]], text[starts[i + 1] : ends[i + 1]]
        if not (_binds(left) or _binds(right)) or _NOT_PART_OF_A_NAME.fullmatch(right):
            words += [Word(word_start, hyphen), Word(hyphen, hyphen + 1)]
            word_start = hyphen + 1
    words.append(Word(word_start, end))
    return words


def _binds(part: str) -> bool:
    return len(part) == 1 or any(char.isdigit() for char in part)
