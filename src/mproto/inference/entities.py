"""Convert tagged words to entities."""

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
        span: its place and type.
        score: the mean score of its words, from 0 to 1.
        prototype: the prototype of its type nearest to its first word, for example `Disease-2`;
            `None` if the model has no prototypes.
        margin: the similarity to that prototype minus the similarity to the nearest prototype of
            any other class. Negative if the neighbouring words decided the tag (Viterbi).
        feature: (d,) a numpy array, the feature of its first word, if features were requested.
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
    """Return the entities of each document.

    Each word belongs to exactly one window. The tags of a document are joined before they are
    decoded, so an entity that continues in the next window is still one entity.

    Args:
        documents: the documents; `Window.document` is an index into them.
        tagged: batches of windows, in any order, with their tags.
        tags: the tag names; `Tagged.tags` are indices into them.
        prototype_names: the prototype names; `Tagged.prototypes` are indices into them.
    """
    results = [_DocumentTags(document.word_count) for document in documents]
    for windows, columns in tagged:
        position = 0
        for window in windows:
            rows = slice(position, position := position + len(window.firsts))
            results[window.document].add(window.start, columns, rows)
    return [_entities(d, result, tags, prototype_names) for d, result in zip(documents, results, strict=True)]


class _DocumentTags:
    """Tags and scores of all words of a document.

    Attributes:
        tags: the index of each word's tag.
        scores: the score of each word.
        rows: for each word with a tag other than O, the batch and the row in it that hold its other
            columns.
    """

    def __init__(self, count: int) -> None:
        self.tags = [0] * count
        self.scores = [0.0] * count
        self.rows: dict[int, tuple[Tagged, int]] = {}

    def add(self, start: int, columns: Tagged, rows: slice) -> None:
        """Add the words of a window. They begin at word `start`, and are `rows` of the batch."""
        tags = columns.tags[rows]
        place = slice(start, start + len(tags))
        self.tags[place], self.scores[place] = tags, columns.scores[rows]
        for i, tag in enumerate(tags):
            if tag:
                self.rows[start + i] = columns, rows.start + i


def _entities(document: Document, words: _DocumentTags, tags: Sequence[str], names: Sequence[str]) -> list[Entity]:
    if not words.rows:
        return []
    starts, ends = document.edges
    entities = []
    for start, end, label in decode([tags[number] for number in words.tags]).spans:
        columns, row = words.rows[start]
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
