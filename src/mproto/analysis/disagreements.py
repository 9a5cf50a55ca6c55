"""Texts where the model disagrees most with human labels, or with the gazetteer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.analysis.word_table import WordTable
    from mproto.recognizer import Entity
    from mproto.text.document import Document, Span

LONGEST = 600
"""The maximum number of characters shown. A longer text is cut to a part with a difference."""


class Disagreement(NamedTuple):
    """A text with two sets of spans.

    Attributes:
        text: the text, or a part of it.
        expected: the human labels, or the gazetteer's labels if there are no human labels.
        predicted: the model's entities.
        difference: how much the two differ; see `largest_disagreements`.
        human_labelled: whether the expected spans are human labels.
    """

    text: str
    expected: tuple[Span, ...]
    predicted: tuple[Span, ...]
    difference: float
    human_labelled: bool


def largest_disagreements(words: WordTable, most: int) -> list[Disagreement]:
    """Return the documents with the largest differences, in descending order.

    Documents without differences are left out.

    The difference is a sum. A missed span counts 1, or 0.5 if an entity of the same type overlaps
    with it. With human labels, a wrong entity counts its score. With gazetteer labels only,
    entities that the gazetteer does not have do not count.

    Args:
        words: the words and entities of some documents.
        most: the maximum number of documents.
    """
    compared = [_compare(d, entities) for d, entities in zip(words.documents, words.entities, strict=True)]
    differing = sorted((item for item in compared if item.difference > 0), key=lambda item: -item.difference)
    return [_shortened(item) for item in differing[:most]]


def _compare(document: Document, entities: Sequence[Entity]) -> Disagreement:
    human_labelled = document.gold is not None
    expected = document.spans if document.gold is None else document.gold
    predicted = tuple(entity.span for entity in entities)
    missed = sum(0.5 if _is_overlapped(span, predicted) else 1.0 for span in set(expected) - set(predicted))
    wrong = sum(entity.score for entity in entities if entity.span not in expected) if human_labelled else 0.0
    return Disagreement(document.text, tuple(expected), predicted, missed + wrong, human_labelled)


def _shortened(item: Disagreement) -> Disagreement:
    """Cut a long text to the part around the first span that only one side has."""
    if len(item.text) <= LONGEST:
        return item
    first = min(span.start for span in set(item.expected) ^ set(item.predicted))
    start = max(0, min(first - LONGEST // 3, len(item.text) - LONGEST))
    part = range(start, start + LONGEST)

    def inside(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        kept = (span for span in spans if span.start in part and span.end - 1 in part)
        return tuple(span._replace(start=span.start - start, end=span.end - start) for span in kept)

    text = item.text[start : start + LONGEST]
    return item._replace(text=text, expected=inside(item.expected), predicted=inside(item.predicted))


def _is_overlapped(span: Span, others: Sequence[Span]) -> bool:
    """Return whether another span of the same type overlaps with a span."""
    return any(other.label == span.label and other.start < span.end and span.start < other.end for other in others)
