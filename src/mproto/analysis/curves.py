"""How a run went: what its history says, as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.training.loop import Progress

POINTS = 200
"""Of a curve; steps beyond that are averaged."""


class Curve(NamedTuple):
    """A value over training.

    Attributes:
        name: of the value.
        points: (step, value).
    """

    name: str
    points: tuple[tuple[float, float], ...]


def curves(history: Sequence[Progress]) -> dict[str, list[Curve]]:
    """Curves by the chart that they belong to; charts without a curve are left out."""
    names = list(dict.fromkeys(name for progress in history for name in progress.logs))
    logs = {name: [(p.step, p.logs[name]) for p in history if name in p.logs] for name in names}
    parts = ("cross_entropy", "compactness", "tying", "typing")
    charts = {
        "Loss": [
            Curve("loss", _smooth([(p.step, p.loss) for p in history])),
            *(Curve(name.replace("_", " "), _smooth(logs[name])) for name in parts if name in logs),
        ],
        "Score": [Curve("score", tuple((p.step, p.score) for p in history if p.score is not None))],
        "Words without a label that are learnt as O": [Curve("share", _smooth(logs.get("kept", [])))],
        "Words that the teacher is sure of": [Curve("share", _smooth(logs.get("sure", [])))],
        "Similarity to the prototypes of the own class": [
            Curve(name.partition(".")[2], _smooth([(x, y) for x, y in values if y]))  # 0: a step without such a word
            for name, values in logs.items()
            if name.startswith("similarity.")
        ],
        "Learning rate": [Curve("learning rate", _smooth([(p.step, p.learning_rate) for p in history]))],
        "Words a second": [Curve("words/s", _smooth([(p.step, p.words / max(p.seconds, 1e-9)) for p in history]))],
    }
    kept = {title: [curve for curve in found if curve.points] for title, found in charts.items()}
    return {title: found for title, found in kept.items() if found}


def _smooth(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Means of neighbouring points, so that no more than `POINTS` are left."""
    size = -(-len(points) // POINTS) if points else 1
    return tuple(
        (sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part))
        for start in range(0, len(points), size)
        for part in [points[start : start + size]]
    )
