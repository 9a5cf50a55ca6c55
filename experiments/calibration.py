"""Expected calibration error: do scores of 0.8 mean that 80 % of the entities are right?

Guo et al., *On Calibration of Modern Neural Networks* (ICML 2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto import Document, Recognizer

BINS = 10


def calibration_error(gold: list[Document], recognizer: Recognizer) -> float:
    """Return the expected calibration error of the predicted entities, with ten bins of equal width."""
    predicted = recognizer.predict_entities([document.bare() for document in gold])
    found = [
        (entity.score, entity.span in set(document.spans))
        for document, entities in zip(gold, predicted, strict=True)
        for entity in entities
    ]
    return round(expected_error(found), 4)


def expected_error(found: Iterable[tuple[float, bool]]) -> float:
    """Return Σ over bins of |right − Σ scores| / n, for n pairs of a score and whether the entity is right."""
    gaps, count = [0.0] * BINS, 0
    for score, right in found:
        gaps[min(int(score * BINS), BINS - 1)] += right - score
        count += 1
    return sum(map(abs, gaps)) / max(count, 1)
