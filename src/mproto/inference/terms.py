"""A gazetteer beside a model: what its terms say of a text, and which of the two counts where they differ."""

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

Combination = Literal["off", "union", "prefer-gazetteer"]
COMBINATIONS: tuple[Combination, ...] = ("off", "union", "prefer-gazetteer")


class Found(NamedTuple):
    """A term in a text."""

    span: Span
    entry: Entry


class Terms:
    """Finds a gazetteer's terms in the texts that a model reads.

    Args:
        gazetteer: the terms.
        combination: `off` finds nothing more than the model, and only tells which of its entities are terms; `union` adds
            terms where the model finds nothing; `prefer-gazetteer` lets them replace what the model finds there.
        options: how to match.
    """

    def __init__(
        self, gazetteer: Gazetteer, combination: Combination = "off", options: MatchOptions = MatchOptions()
    ) -> None:
        if combination not in COMBINATIONS:
            hint = f"choose from {', '.join(COMBINATIONS)}"
            raise InputError(f"there is no way {combination!r} to combine a gazetteer with a model", hint=hint)
        self.combination, self.fingerprint, self.types = combination, gazetteer.fingerprint, gazetteer.types
        self._matcher = Matcher(gazetteer, options)
        self.options = options

    def find(self, document: Document) -> list[Found]:
        """The terms in a document, from left to right; where a term has several types, by the matching options."""
        starts, ends = document.edges
        return [
            Found(Span(starts[match.start], ends[match.end - 1], type_), entry)
            for match in self._matcher.matches(document.word_texts)
            for type_ in resolve([entry.type for entry in match.entries], self.options)
            for entry in [next(entry for entry in match.entries if entry.type == type_)]
        ]

    def combine(self, entities: Sequence[Entity], found: Sequence[Found]) -> list[Entity]:
        """The entities of both, in order. One that only the gazetteer has scores 1, and has no prototype."""
        if self.combination == "off":
            return list(entities)
        by_span = {entity.span: entity for entity in entities}
        terms = [by_span.get(term.span) or Entity(term.span, 1.0) for term in found]
        first, then = (entities, terms) if self.combination == "union" else (terms, entities)
        return _without_overlaps(first, then)


def _without_overlaps(first: Sequence[Entity], then: Sequence[Entity]) -> list[Entity]:
    """All the first, and those of the others that share no character with any of them. Both are in order."""
    kept, place = list(first), 0
    for entity in then:
        while place < len(first) and first[place].span.end <= entity.span.start:
            place += 1
        if place == len(first) or entity.span.end <= first[place].span.start:
            kept.append(entity)
    return sorted(kept, key=lambda entity: entity.span)
