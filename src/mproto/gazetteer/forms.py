"""The forms of a term: as sequences of words, in every way that a text may write and split it."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from mproto.text.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.gazetteer.entries import Entry
    from mproto.gazetteer.options import MatchOptions, Normalise

SHORT = 3
"""Terms of at most so many characters keep their case with `case="smart"`."""

_SIMPLE = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*")
_EVERY_MARK = re.compile(r"\w+|[^\w\s]")
_HYPHEN = re.compile(r"\s*[-‐‑]\s*")


def normalise(text: str, form: Normalise) -> str:
    return text if form == "none" or text.isascii() else unicodedata.normalize(form, text)


def keeps_case(entry: Entry, options: MatchOptions) -> bool:
    """Whether an entry matches only as it is written."""
    if entry.case_sensitive is not None:
        return entry.case_sensitive
    if options.case == "smart":
        return len(entry.surface) <= SHORT or entry.surface.isupper()
    return options.case == "sensitive"


def needs_capitals(entry: Entry, options: MatchOptions) -> bool:
    """Whether an entry is a name: it may have more capitals in the text, but not fewer words that begin with one."""
    is_name = entry.case_sensitive is None and entry.type in (options.names or ())
    return is_name and not keeps_case(entry, options) and bool(_capitals(entry.surface))


def fits(entry: Entry, written: str, options: MatchOptions) -> bool:
    """Whether letter case lets an entry match words, given as they are written, without blanks."""
    written = normalise(written, options.normalise)
    if keeps_case(entry, options):
        return written == "".join(normalise(entry.surface, options.normalise).split())
    if not needs_capitals(entry, options):
        return True
    found = [letter.isupper() for letter in written for folded in letter.casefold() if folded.isalnum()]
    return all(place < len(found) and found[place] for place in _capitals(normalise(entry.surface, options.normalise)))


def _capitals(surface: str) -> list[int]:
    """Where words begin with a capital: places among the letters and digits of the case folded surface, marks left out.

    Case folding may make two letters of one (ß), and marks and blanks differ from one form of a term to the other.
    """
    places, place = [], 0
    for word in surface.split():
        letters = [letter for letter in word if any(map(str.isalnum, letter.casefold()))]
        if letters and letters[0].isupper():
            places.append(place)
        place += sum(map(str.isalnum, word.casefold()))
    return places


def folds_case(entries: Iterable[Entry], options: MatchOptions) -> bool:
    """Whether text and terms are case folded before they are compared; not needed where all terms keep their case."""
    return options.case != "sensitive" or any(entry.case_sensitive is False for entry in entries)


def forms(surface: str, options: MatchOptions, *, fold: bool = True) -> set[tuple[str, ...]]:
    """Word sequences, case folded unless told otherwise, that a term matches.

    A term is split in three ways, because texts that come in words were split by others: at white space only, by our own
    rules, and around every punctuation mark. For most terms the three are one.
    """
    surface = normalise(surface, options.normalise)
    surface = surface.casefold() if fold else surface
    surfaces = {surface}
    if options.hyphens:
        surfaces |= {_HYPHEN.sub(" ", surface), _HYPHEN.sub("", surface), surface.replace(" ", "-")}
    if options.plurals:
        surfaces |= {variant for found in surfaces for variant in _plurals(found)}
    return {words for found in surfaces for words in _splits(found) if words}


def _splits(surface: str) -> set[tuple[str, ...]]:
    if _SIMPLE.fullmatch(surface):
        return {tuple(surface.split(" "))}
    return {
        tuple(surface.split()),
        tuple(surface[start:end] for start, end in split_words(surface)),
        tuple(_EVERY_MARK.findall(surface)),
    }


def _plurals(surface: str) -> set[str]:
    """With a plural ending, or without the one it has. The last word carries it, which has to be one of letters."""
    last = surface.rpartition(" ")[2]
    if len(last) <= SHORT or not last.isalpha():
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
