"""The sentences that a person should read first: where the model is wrong, or at odds with the dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.analysis.words import Words
    from mproto.recognizer import Entity
    from mproto.text.document import Document, Span

LONGEST = 600
"""Characters of a text that are shown; of longer ones, a part where the two differ."""


class Hard(NamedTuple):
    """A text, what should be found in it, and what the model finds.

    Attributes:
        text: of the document.
        right: by people, where they labelled it, and else by the dictionary.
        found: by the model.
        difference: how much the two differ.
        by_people: whether people labelled it.
    """

    text: str
    right: tuple[Span, ...]
    found: tuple[Span, ...]
    difference: float
    by_people: bool


def hardest(words: Words, most: int) -> list[Hard]:
    """The documents with the greatest difference first; none without any.

    A span that is missed counts 1, or a half where the model finds part of it or more; one that is found in vain as much
    as the model is sure of it. Where people did not label, what the dictionary lacks is no error, and is not counted.
    """
    found = [_compare(d, entities) for d, entities in zip(words.documents, words.entities, strict=True)]
    wrong = sorted((hard for hard in found if hard.difference > 0), key=lambda hard: -hard.difference)
    return [_shortened(hard) for hard in wrong[:most]]


def _compare(document: Document, entities: Sequence[Entity]) -> Hard:
    by_people = document.gold is not None
    right = document.spans if document.gold is None else document.gold
    found = tuple(entity.span for entity in entities)
    missed = sum(0.5 if _is_touched(span, found) else 1.0 for span in set(right) - set(found))
    in_vain = sum(entity.score for entity in entities if entity.span not in right) if by_people else 0.0
    return Hard(document.text, tuple(right), found, missed + in_vain, by_people)


def _shortened(hard: Hard) -> Hard:
    """The part of a long text around the first span that one has and the other has not."""
    if len(hard.text) <= LONGEST:
        return hard
    first = min(span.start for span in set(hard.right) ^ set(hard.found))
    start = max(0, min(first - LONGEST // 3, len(hard.text) - LONGEST))
    part = range(start, start + LONGEST)

    def inside(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        kept = (span for span in spans if span.start in part and span.end - 1 in part)
        return tuple(span._replace(start=span.start - start, end=span.end - start) for span in kept)

    return hard._replace(text=hard.text[start : start + LONGEST], right=inside(hard.right), found=inside(hard.found))


def _is_touched(span: Span, others: Sequence[Span]) -> bool:
    """Whether one of the others has its label and shares a letter with it."""
    return any(other.label == span.label and other.start < span.end and span.start < other.end for other in others)
