"""Output styles: entities in the formats that other libraries use."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Literal, get_args

from mproto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mproto.inference.entities import Entity
    from mproto.text.document import Document

Style = Literal["hf", "spacy", "gliner"]
Extra = dict[str, Any]
"""Additional fields of an entity: `provenance`, or the indices of its words."""


def get_style(name: str) -> Callable[[Document, Sequence[Entity], Sequence[Extra]], Any]:
    """Return the function that writes a document's entities in a style.

    Raises:
        InputError: the style does not exist.
    """
    if name not in _STYLES:
        raise InputError(f"there is no output style {name!r}", hint=f"choose from {', '.join(get_args(Style))}")
    return _STYLES[name]


def hf(document: Document, entities: Sequence[Entity], extras: Sequence[Extra]) -> list[dict[str, Any]]:
    """Write entities like a token-classification pipeline of Hugging Face transformers."""
    return [
        {
            "entity_group": entity.span.label,
            "score": entity.score,
            "word": document.surface(entity.span),
            "start": entity.span.start,
            "end": entity.span.end,
            **extra,
        }
        for entity, extra in zip(entities, extras, strict=True)
    ]


def gliner(document: Document, entities: Sequence[Entity], extras: Sequence[Extra]) -> list[dict[str, Any]]:
    """Write entities like GLiNER's `predict_entities`."""
    return [
        {
            "start": entity.span.start,
            "end": entity.span.end,
            "text": document.surface(entity.span),
            "label": entity.span.label,
            "score": entity.score,
            **extra,
        }
        for entity, extra in zip(entities, extras, strict=True)
    ]


def spacy(document: Document, entities: Sequence[Entity], extras: Sequence[Extra]) -> dict[str, Any]:
    """Write entities for spaCy's displaCy: `displacy.render(result, style="ent", manual=True)`."""
    spans = [
        {"start": e.span.start, "end": e.span.end, "label": e.span.label, "score": e.score, **extra}
        for e, extra in zip(entities, extras, strict=True)
    ]
    return {"text": document.text, "ents": spans, "title": None}


def word_numbers(document: Document, entities: Sequence[Entity]) -> list[Extra]:
    """Return the word offsets of each entity: `word_start`, and `word_end` (exclusive)."""
    starts, ends = document.edges
    return [
        {"word_start": bisect_left(starts, e.span.start), "word_end": bisect_left(ends, e.span.end) + 1}
        for e in entities
    ]


_STYLES: dict[str, Callable[[Document, Sequence[Entity], Sequence[Extra]], Any]] = {
    "hf": hf,
    "spacy": spacy,
    "gliner": gliner,
}
