"""Which types are names: *Reading* and *Best* are clubs, *reading* and *best* are not; but *Aspirin* in a list is *aspirin*.

A list does not say whether its capitals are part of the terms or a habit of its author. The text does: of the terms that it
knows, it writes hardly any names in small letters, and most other things.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mproto.gazetteer.forms import keeps_case
from mproto.gazetteer.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mproto.gazetteer.entries import Gazetteer
    from mproto.gazetteer.options import MatchOptions
    from mproto.text.document import Document

LEAST = 10
"""Terms that must be found before anything is said of their type."""
MOST_SMALL = 1 / 2
"""The share of a type's capitalised terms, found anywhere in small letters, from which on they are no names. It is below
0.1 for the persons, places and organisations of CoNLL03, and above 0.8 for the drugs and diseases of BC5CDR."""


def names_in(matcher: Matcher, documents: Iterable[Document]) -> frozenset[str]:
    """Types whose capitalised terms these documents write with capitals."""
    found: dict[str, set[str]] = defaultdict(set)
    small: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        for match in matcher.matches(document.word_texts):
            is_small = document.word_texts[match.start][0].islower()
            for entry in match.entries:
                if entry.surface[0].isupper() and not keeps_case(entry, matcher.options):
                    found[entry.type].add(entry.surface)
                    if is_small:
                        small[entry.type].add(entry.surface)
    return frozenset(
        type_
        for type_, surfaces in found.items()
        if len(surfaces) >= LEAST and len(small[type_]) < MOST_SMALL * len(surfaces)
    )


def settled_matcher(
    gazetteer: Gazetteer, options: MatchOptions, documents: Sequence[Document], cache_folder: Path | None = None
) -> Matcher:
    """A matcher that knows which types are names: those of the options, or, with `smart` case, those in these documents."""
    matcher = Matcher(gazetteer, options, cache_folder)
    if options.case != "smart" or options.names is not None:
        return matcher
    return matcher.with_names(names_in(matcher, documents))
