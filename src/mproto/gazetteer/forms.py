"""The forms of a term: all word sequences that match it, and the rules for letter case."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from mproto.text.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.gazetteer.entries import Entry
    from mproto.gazetteer.options import MatchOptions, Normalise

MAX_CASE_SENSITIVE = 3
"""Terms of at most this many characters are case-sensitive with `case="smart"`."""
MAX_WITHOUT_PLURAL = 3
"""Words of at most this many characters have no plural form."""

_SIMPLE = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*")
_WORDS_AND_PUNCTUATION = re.compile(r"\w+|[^\w\s]")
_HYPHEN = re.compile(r"\s*[-‐‑]\s*")


def normalise(text: str, form: Normalise) -> str:
    return text if form == "none" or text.isascii() else unicodedata.normalize(form, text)


def is_case_sensitive(entry: Entry, options: MatchOptions) -> bool:
    """Whether an entry matches only text in the same case."""
    if entry.case_sensitive is not None:
        return entry.case_sensitive
    if options.case == "smart":
        return len(entry.surface) <= MAX_CASE_SENSITIVE or entry.surface.isupper()
    return options.case == "sensitive"


def needs_capitals(entry: Entry, options: MatchOptions) -> bool:
    """Whether an entry is a name, whose initial capitals the text must have; it may have more."""
    is_name = entry.case_sensitive is None and entry.type in (options.names or ())
    return is_name and not is_case_sensitive(entry, options) and bool(_capital_positions(entry.surface))


def case_fits(entry: Entry, written: str, options: MatchOptions) -> bool:
    """Whether an entry may match words in this case; `written` is the words without spaces."""
    written = normalise(written, options.normalise)
    if is_case_sensitive(entry, options):
        return written == "".join(normalise(entry.surface, options.normalise).split())
    if not needs_capitals(entry, options):
        return True
    is_upper = [letter.isupper() for letter in written for folded in letter.casefold() if folded.isalnum()]
    needed = _capital_positions(normalise(entry.surface, options.normalise))
    return all(position < len(is_upper) and is_upper[position] for position in needed)


def _capital_positions(surface: str) -> list[int]:
    """Return the positions of initial capitals among the case-folded letters and digits.

    Positions refer to the case-folded form because case folding may turn one letter into two (ß).
    Punctuation and spaces do not count because they differ between the forms of a term.
    """
    positions, position = [], 0
    for word in surface.split():
        letters = [letter for letter in word if any(map(str.isalnum, letter.casefold()))]
        if letters and letters[0].isupper():
            positions.append(position)
        position += sum(map(str.isalnum, word.casefold()))
    return positions


def folds_case(entries: Iterable[Entry], options: MatchOptions) -> bool:
    """Whether text and terms are case-folded: not if all terms are case-sensitive."""
    return options.case != "sensitive" or any(entry.case_sensitive is False for entry in entries)


def forms(surface: str, options: MatchOptions, *, fold: bool = True) -> set[tuple[str, ...]]:
    """Return the word sequences that a term matches, case-folded by default.

    A corpus may come with its own word boundaries, so a term is split in three ways: at white space
    only, by the rules of `text/words.py`, and around every punctuation mark. For most terms all
    three are the same.
    """
    surface = normalise(surface, options.normalise)
    surface = surface.casefold() if fold else surface
    surfaces = {surface}
    if options.hyphens:
        surfaces |= {_HYPHEN.sub(" ", surface), _HYPHEN.sub("", surface), surface.replace(" ", "-")}
    if options.plurals:
        surfaces |= {variant for form in surfaces for variant in _plural_variants(form)}
    return {words for form in surfaces for words in _splits(form) if words}


def _splits(surface: str) -> set[tuple[str, ...]]:
    if _SIMPLE.fullmatch(surface):
        return {tuple(surface.split(" "))}
    return {
        tuple(surface.split()),
        tuple(surface[start:end] for start, end in split_words(surface)),
        tuple(_WORDS_AND_PUNCTUATION.findall(surface)),
    }


def _plural_variants(surface: str) -> set[str]:
    """Return a surface with and without a plural ending. Its last word must be all letters."""
    last = surface.rpartition(" ")[2]
    if len(last) <= MAX_WITHOUT_PLURAL or not last.isalpha():
        return {surface}
    if last.endswith("ies"):
        return {surface, f"{surface[:-3]}y"}
    if last.endswith(("ses", "xes", "zes", "ches", "shes")):
        return {surface, surface[:-2], surface[:-1]}
    if last.endswith("s"):
        return {surface} if last.endswith(("ss", "us", "is")) else {surface, surface[:-1]}
    if last.endswith("y") and last[-2] not in "aeiou":
        return {surface, f"{surface[:-1]}ies"}
    return {surface, f"{surface}es" if last.endswith(("x", "z", "ch", "sh")) else f"{surface}s"}
