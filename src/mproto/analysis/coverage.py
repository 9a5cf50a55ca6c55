"""Coverage: how many mentions the gazetteer labels, and how many the model finds."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from mproto.text.scoring import surface_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.analysis.word_table import WordTable


class Coverage(NamedTuple):
    """Mentions of a type in some documents.

    Attributes:
        type: the entity type.
        terms: the number of different terms that the gazetteer labels.
        labelled: the number of mentions that the gazetteer labels.
        found: the number of mentions that the model finds.
        both: the number of mentions that both find, with the same boundaries and type.
    """

    type: str
    terms: int
    labelled: int
    found: int
    both: int


def coverage(words: WordTable, types: Sequence[str]) -> list[Coverage]:
    """Return the coverage of each type."""
    terms: dict[str, set[str]] = defaultdict(set)
    labelled: Counter[str] = Counter()
    found: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for document, entities in zip(words.documents, words.entities, strict=True):
        spans = set(document.spans)
        labelled.update(span.label for span in spans)
        found.update(entity.span.label for entity in entities)
        both.update(entity.span.label for entity in entities if entity.span in spans)
        for span in spans:
            terms[span.label].add(surface_key(document.surface(span)))
    return [Coverage(type_, len(terms[type_]), labelled[type_], found[type_], both[type_]) for type_ in types]
