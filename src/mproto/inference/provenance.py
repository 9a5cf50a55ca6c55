"""Where an entity is known from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mproto.gazetteer.entries import Entry
    from mproto.inference.entities import Entity
    from mproto.inference.mentions import Mentions


def provenance_of(entity: Entity, entry: Entry | None, mentions: Mentions | None) -> dict[str, Any]:
    """What speaks for an entity, for JSON.

    Args:
        entity: with its feature, where training mentions are to be named.
        entry: the term of the gazetteer that it is, if it is one.
        mentions: that the model remembers.

    Returns:
        `{"source": "gazetteer", "entry", "file", "line"}`, and `id` where the list has ids; or `{"source": "model",
        "prototype", "margin", "like"}`, as far as the model has prototypes and remembers mentions.
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
