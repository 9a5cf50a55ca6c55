"""Maps of words and prototypes, drawn when a cell trains its model. Points are not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.cells import Cell, documents
from experiments.figures import save_map
from mproto.analysis.report import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto import Recognizer

WORDS = 20_000
"""Most test words that a map is computed from."""


def draw_map(figure: str, data: str) -> Callable[[Recognizer], Cell]:
    """Return a function that draws a model's map and returns how many words each prototype serves.

    The map shows test words with their human classes.
    """

    def draw(recognizer: Recognizer) -> Cell:
        gold = [document.with_spans((), document.spans) for document in documents(data, "test")]
        found = report(recognizer, [], gold, most_words=WORDS).findings
        assert found is not None
        points = [(round(p.x, 3), round(p.y, 3), p.class_number) for p in found.word_map.points]
        prototypes = [(round(p.x, 3), round(p.y, 3), p.class_number, p.word) for p in found.word_map.prototypes]
        save_map(figure, ["O", *recognizer.labels], points, prototypes)
        return {"served": {card.name: card.words for card in found.cards}}

    return draw
