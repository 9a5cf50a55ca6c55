"""Maps of words and prototypes, from models that cells train."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.cells import Cell, documents
from mproto.analysis.report import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto import Recognizer

WORDS = 20_000


def word_map(data: str) -> Callable[[Recognizer], Cell]:
    """What draws the map of a model: test words with their human classes (no more than their places and classes are kept)."""

    def draw(recognizer: Recognizer) -> Cell:
        gold = [document.with_spans((), document.spans) for document in documents(data, "test")]
        found = report(recognizer, [], gold, most_words=WORDS).findings
        assert found is not None
        points = [(round(p.x, 3), round(p.y, 3), p.class_number) for p in found.word_map.points]
        prototypes = [(round(p.x, 3), round(p.y, 3), p.class_number, p.word) for p in found.word_map.prototypes]
        served = {card.name: card.words for card in found.cards}
        return {"classes": ["O", *recognizer.labels], "points": points, "prototypes": prototypes, "served": served}

    return draw
