"""Detect the types whose terms are names, so that their capitals matter.

*Reading* and *Best* are football clubs, but *reading* and *best* are not. *Aspirin* in a term list,
however, should match *aspirin*. The list does not show whether its capitals belong to the terms or
are just its author's style. The corpus does: names rarely occur there in lower case, other terms
often do.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mproto.gazetteer.forms import is_case_sensitive
from mproto.gazetteer.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mproto.gazetteer.entries import Gazetteer
    from mproto.gazetteer.options import MatchOptions
    from mproto.text.document import Document

MIN_TERMS = 10
"""A type needs at least this many capitalised terms in the corpus to be detected as names."""
MAX_LOWER_CASE_SHARE = 1 / 2
"""A type is not names if at least this share of its capitalised terms also occurs in lower case.

The share is below 0.1 for the persons, places and organisations of CoNLL03, and above 0.8 for the
drugs and diseases of BC5CDR.
"""


def detect_name_types(matcher: Matcher, documents: Iterable[Document]) -> frozenset[str]:
    """Return the types whose capitalised terms these documents write with capitals."""
    found: dict[str, set[str]] = defaultdict(set)
    lower_case: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        for match in matcher.matches(document.word_texts):
            is_lower_case = document.word_texts[match.start][0].islower()
            for entry in match.entries:
                if entry.surface[0].isupper() and not is_case_sensitive(entry, matcher.options):
                    found[entry.type].add(entry.surface)
                    if is_lower_case:
                        lower_case[entry.type].add(entry.surface)
    return frozenset(
        type_
        for type_, surfaces in found.items()
        if len(surfaces) >= MIN_TERMS and len(lower_case[type_]) < MAX_LOWER_CASE_SHARE * len(surfaces)
    )


def matcher_with_detected_names(
    gazetteer: Gazetteer, options: MatchOptions, documents: Sequence[Document], cache_folder: Path | None = None
) -> Matcher:
    """Return a matcher whose name types are given by the options or detected in the documents."""
    matcher = Matcher(gazetteer, options, cache_folder)
    if options.case != "smart" or options.names is not None:
        return matcher
    return matcher.with_names(detect_name_types(matcher, documents))
