"""Split text into words without losing a character.

A word is a pair of offsets. Between two words there may be a gap of white space and control
characters. For every string, its words and gaps joined are the string. The rules, in order:

- A web or e-mail address (`https://…`, `a@b.org`) is one word. So are dotted letters (`U.S.`,
  `e.g.`).
- Adjacent letters, digits and combining marks are one word. So is a number with inner `.`, `,` or
  `:` (`3.5`, `1,000`, `10:30`).
- An apostrophe between letters does not split (`O'Brien`). A possessive is a separate word
  (`Parkinson` `'s`), so the term *aspirin* is found in *aspirin's*.
- A hyphen does not split if one side contains a digit or is a single letter (`IL-2`, `5-HT3`,
  `22-oxacalcitriol`, `L-dopa`). Otherwise it does (`aspirin` `-` `induced`). It always splits
  before participles and similar endings, which are never part of a name (`IL-2` `-` `induced`, `19`
  `-` `year` `-` `old`).
- Each Chinese character or kana is a word. An emoji with its modifiers is one word, and so is a
  flag.
- Every other character is a word. A repetition of one of `. - = * ~ _ ! ?` is one word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple


class Word(NamedTuple):
    """The offsets of a word: `text[start:end]`."""

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
    """Build the pattern on first use.

    `re` has no class for combining marks, so they are collected from the Unicode tables, which
    takes time.
    """
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
    """Return sorted code points as the content of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return [f"{chr(first)}-{chr(last)}" for first, last in ranges]


@lru_cache(maxsize=1)  # callers often split the same document twice in a row
def split_words(text: str) -> tuple[Word, ...]:
    """Return the word offsets of a text, in order, by the rules at the top of this file."""
    words: list[Word] = []
    position = 0
    for chunk in text.split(" "):  # no rule looks across a space, so each chunk is split on its own
        chunk_end = position + len(chunk)
        if chunk.isascii() and chunk.isalnum():
            words.append(_new_word(Word, (position, chunk_end)))
        else:
            for start, end in _split_chunk(chunk) if len(chunk) > _LONG else _split_cached_chunk(chunk):
                words.append(_new_word(Word, (position + start, position + end)))
        position = chunk_end + 1
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
"""Longer chunks rarely occur twice, so they are not cached."""
_split_cached_chunk = lru_cache(maxsize=1 << 12)(_split_chunk)
_new_word = tuple.__new__  # much faster than calling `Word`, which matters for every word of a corpus


def _split_chain(text: str, start: int, end: int) -> list[Word]:
    """Split a chain of parts at the hyphens that are not part of a name."""
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
