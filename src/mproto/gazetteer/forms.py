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
    is_name = options.case == "smart" and entry.case_sensitive is None and entry.type in (options.names or ())
    return is_name and any(word[0].isupper() for word in entry.surface.split())


def fits(entry: Entry, written: str, options: MatchOptions) -> bool:
    """Whether letter case lets an entry match words, given as they are written, without blanks."""
    written = normalise(written, options.normalise)
    surface = normalise(entry.surface, options.normalise)
    if keeps_case(entry, options):
        return written == "".join(surface.split())
    return not needs_capitals(entry, options) or _has_capitals(written, surface)


def _has_capitals(written: str, surface: str) -> bool:
    """Whether each word of the surface that begins with a capital does so in the text. Marks may differ, and endings."""
    found = "".join(filter(str.isalnum, written))
    place = 0
    for word in surface.split():
        letters = "".join(filter(str.isalnum, word))
        if letters[:1].isupper() and not found[place : place + 1].isupper():
            return False
        place += len(letters)
    return True


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
