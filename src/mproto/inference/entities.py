"""From tagged words to entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mproto.text.document import Span
from mproto.text.tagging import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mproto.encoding.windows import Window
    from mproto.inference.tagger import Tagged
    from mproto.text.document import Document


class Entity(NamedTuple):
    """A predicted entity.

    Attributes:
        span: where it is, and its type.
        score: the mean of its words' scores, from 0 to 1.
        prototype: the prototype of its type nearest to its first word, such as `Disease-2`, where the model has any.
        margin: how much more similar that is than the nearest prototype of any other class; below 0 where the words beside it
            decided.
        feature: (d,) of its first word, where it was asked for: an array of numpy.
    """

    span: Span
    score: float
    prototype: str | None = None
    margin: float | None = None
    feature: Any = None


def read_entities(
    documents: Sequence[Document],
    tagged: Iterable[tuple[Sequence[Window], Tagged]],
    tags: Sequence[str],
    prototype_names: Sequence[str] = (),
) -> list[list[Entity]]:
    """The entities of each document.

    An entity that goes on from one window to the next is one: windows share no word, and runs of words are looked for in
    whole documents.

    Args:
        documents: in the order that the windows count them in.
        tagged: their windows, in any order and company, and what was said about each.
        tags: what the numbers stand for.
        prototype_names: likewise.
    """
    found = [_Words(document.word_count) for document in documents]
    for windows, columns in tagged:
        position = 0
        for window in windows:
            own = slice(position, position := position + len(window.firsts))
            found[window.document].fill(window.start, columns, own)
    return [_entities(d, words, tags, prototype_names) for d, words in zip(documents, found, strict=True)]


class _Words:
    """What was said about each word of a document."""

    def __init__(self, count: int) -> None:
        self.tags = [0] * count
        self.scores = [0.0] * count
        self.further: dict[int, tuple[Tagged, int]] = {}
        """For words with a tag, where the rest is to be looked up."""

    def fill(self, start: int, columns: Tagged, own: slice) -> None:
        tags = columns.tags[own]
        place = slice(start, start + len(tags))
        self.tags[place], self.scores[place] = tags, columns.scores[own]
        for i, tag in enumerate(tags):
            if tag:
                self.further[start + i] = columns, own.start + i


def _entities(document: Document, words: _Words, tags: Sequence[str], names: Sequence[str]) -> list[Entity]:
    if not words.further:
        return []
    starts, ends = document.edges
    entities = []
    for start, end, label in decode([tags[number] for number in words.tags]).spans:
        columns, row = words.further[start]
        prototype = names[columns.prototypes[row]] if columns.prototypes is not None else None
        entities.append(
            Entity(
                Span(starts[start], ends[end - 1], label),
                sum(words.scores[start:end]) / (end - start),
                prototype,
                columns.margins[row] if columns.margins is not None else None,
                columns.features[row] if columns.features is not None else None,
            )
        )
    return entities
