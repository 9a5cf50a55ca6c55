"""The history of a run as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.training.loop import Progress

POINTS = 200
"""The maximum number of points of a curve. Longer histories are averaged."""


class Curve(NamedTuple):
    """A value over the steps of training.

    Attributes:
        name: the name of the value.
        points: pairs of step and value.
    """

    name: str
    points: tuple[tuple[float, float], ...]


def curves(history: Sequence[Progress]) -> dict[str, list[Curve]]:
    """Return the curves of each chart, by the title of the chart.

    Charts without curves are left out.
    """
    names = list(dict.fromkeys(name for progress in history for name in progress.logs))
    logs = {name: [(p.step, p.logs[name]) for p in history if name in p.logs] for name in names}
    parts = ("cross_entropy", "compactness", "tying", "typing")
    charts = {
        "Loss": [
            Curve("loss", _smooth([(p.step, p.loss) for p in history])),
            *(Curve(name.replace("_", " "), _smooth(logs[name])) for name in parts if name in logs),
        ],
        "Score": [Curve("score", tuple((p.step, p.score) for p in history if p.score is not None))],
        "Share of words labelled O used in training": [Curve("share", _smooth(logs.get("kept", [])))],
        "Share of words with a confident teacher": [Curve("share", _smooth(logs.get("sure", [])))],
        "Similarity of words to their prototypes, by class": [  # 0 means that the step had no word of the class
            Curve(name.partition(".")[2], _smooth([(x, y) for x, y in values if y]))
            for name, values in logs.items()
            if name.startswith("similarity.")
        ],
        "Learning rate": [Curve("learning rate", _smooth([(p.step, p.learning_rate) for p in history]))],
        "Words per second": [Curve("words/s", _smooth([(p.step, p.words / max(p.seconds, 1e-9)) for p in history]))],
    }
    kept = {title: [curve for curve in found if curve.points] for title, found in charts.items()}
    return {title: found for title, found in kept.items() if found}


def _smooth(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Average neighbouring points, so that at most `POINTS` are left."""
    size = -(-len(points) // POINTS) if points else 1
    return tuple(
        (sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part))
        for start in range(0, len(points), size)
        for part in [points[start : start + size]]
    )
