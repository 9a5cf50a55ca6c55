"""Provenance: why an entity was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mproto.gazetteer.entries import Entry
    from mproto.inference.entities import Entity
    from mproto.inference.mentions import Mentions


def provenance_of(entity: Entity, entry: Entry | None, mentions: Mentions | None) -> dict[str, Any]:
    """Return the provenance of an entity, as JSON values.

    Args:
        entity: the entity. It needs its feature if similar training mentions are wanted.
        entry: the gazetteer's entry, if the entity is a term.
        mentions: the model's example mentions, if it has any.

    Returns:
        For a term, `{"source": "gazetteer", "entry", "file", "line"}`, with `id` if the entry has
        one. For any other entity, `{"source": "model"}`, with `prototype` and `margin` if the model
        has prototypes, and with `like` (the most similar training mentions) if it has example
        mentions.
    """
    if entry is not None:
        found: dict[str, Any] = {"source": "gazetteer", "entry": entry.surface}
        return {**found, **({"id": entry.id} if entry.id else {}), "file": entry.file, "line": entry.line}
    found = {"source": "model"}
    if entity.prototype is not None:
        found |= {"prototype": entity.prototype, "margin": entity.margin}
    if mentions is not None and entity.feature is not None:
        found["like"] = mentions.nearest(entity.feature, entity.span.label)
    return found
