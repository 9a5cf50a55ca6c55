"""Gazetteer terms in texts, and how they are combined with the entities of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from mproto.errors import InputError
from mproto.gazetteer.matcher import Matcher, resolve
from mproto.gazetteer.options import MatchOptions
from mproto.inference.entities import Entity
from mproto.text.document import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.gazetteer.entries import Entry, Gazetteer
    from mproto.text.document import Document

Combination = Literal["off", "union", "prefer-gazetteer", "terms"]
COMBINATIONS: tuple[Combination, ...] = ("off", "union", "prefer-gazetteer", "terms")
WITHOUT_RECOMMENDATION: Combination = "prefer-gazetteer"
"""The default for models whose training recommended no combination."""


class TermMatch(NamedTuple):
    """A gazetteer term in a text.

    Attributes:
        span: its place and type.
        entry: the gazetteer's entry.
    """

    span: Span
    entry: Entry


class GazetteerTerms:
    """Find the terms of a gazetteer, and combine them with the entities of a model.

    Args:
        gazetteer: the terms.
        combination: how terms and entities are combined. `off` returns the model's entities only;
            terms then only appear in the provenance of entities. `union` adds terms where the model
            finds no entity. `prefer-gazetteer` also replaces the model's entities by the terms that
            they overlap with. `terms` returns the terms only.
        options: how terms are matched.

    Raises:
        InputError: there is no such combination.
    """

    def __init__(self, gazetteer: Gazetteer, combination: Combination, options: MatchOptions = MatchOptions()) -> None:
        if combination not in COMBINATIONS:
            hint = f"choose from {', '.join(COMBINATIONS)}"
            raise InputError(f"{combination!r} is not a way to combine a gazetteer with a model", hint=hint)
        self.combination, self.fingerprint, self.types = combination, gazetteer.fingerprint, gazetteer.types
        self._matcher = Matcher(gazetteer, options)
        self.options = options

    def find(self, document: Document) -> list[TermMatch]:
        """Return the terms in a document, from left to right.

        The matching options decide about terms with several types.
        """
        starts, ends = document.edges
        return [
            TermMatch(Span(starts[match.start], ends[match.end - 1], type_), entry)
            for match in self._matcher.matches(document.word_texts)
            for type_ in resolve([entry.type for entry in match.entries], self.options)
            for entry in [next(entry for entry in match.entries if entry.type == type_)]
        ]

    def combine(self, entities: Sequence[Entity], matches: Sequence[TermMatch]) -> list[Entity]:
        """Combine the model's entities with terms, in order of position.

        A term that the model finds too, with the same span, keeps the model's score and prototype.
        Any other term has a score of 1 and no prototype.
        """
        if self.combination == "off":
            return list(entities)
        by_span = {entity.span: entity for entity in entities}
        terms = [by_span.get(match.span) or Entity(match.span, 1.0) for match in matches]
        if self.combination == "terms":
            return terms
        preferred, others = (entities, terms) if self.combination == "union" else (terms, entities)
        return _without_overlaps(preferred, others)


def _without_overlaps(preferred: Sequence[Entity], others: Sequence[Entity]) -> list[Entity]:
    """Return all preferred entities, and the others that overlap with none of them.

    Both are in order.
    """
    kept, place = list(preferred), 0
    for entity in others:
        while place < len(preferred) and preferred[place].span.end <= entity.span.start:
            place += 1
        if place == len(preferred) or entity.span.end <= preferred[place].span.start:
            kept.append(entity)
    return sorted(kept, key=lambda entity: entity.span)
