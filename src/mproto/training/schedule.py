"""The schedule of a run: its stages, the steps of each, and the learning rate."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.models.base import Stage


class Schedule:
    """The steps of a run, counted from 0.

    Args:
        stages: the stages of the model.
        steps: number of steps of a stage whose share is 1.
        warmup: length of the warm-up of each stage: a number of steps, or a fraction of its steps if below 1.

    Attributes:
        steps: actual number of steps.
    """

    def __init__(self, stages: Sequence[Stage], steps: int, warmup: float) -> None:
        self._stages, self._warmup = stages, warmup
        self._starts, saved = [0], 0
        for stage, share in zip(stages, accumulate(stage.share for stage in stages), strict=True):
            start = self._starts[-1]
            end = max(steps_within(share, steps) - saved, start + 1)  # each stage has at least one step
            shorter = end if stage.most is None else min(end, start + stage.most)
            saved += end - shorter
            self._starts.append(shorter)
        self.steps = self._starts[-1]

    def stage_of(self, step: int) -> int:
        """Return the number of the stage of a step."""
        return next(number for number in range(len(self._stages)) if step < self._starts[number + 1])

    def start_of(self, stage: int) -> int:
        """Return the first step of a stage."""
        return self._starts[stage]

    def begins(self, step: int) -> bool:
        """Return whether a stage other than the first starts with this step."""
        return step in self._starts[1:-1]

    def counts(self, done: int) -> bool:
        """Return whether the weights after this number of steps may be kept."""
        return self._stages[self.stage_of(done - 1)].counts

    def counting(self, done: int, stages: range | None = None) -> tuple[int, int]:
        """Return how many of the steps that count are done, and their total number, in some stages or in all."""
        among = range(len(self._stages)) if stages is None else stages
        parts = [(self._starts[number], self._starts[number + 1]) for number in among if self._stages[number].counts]
        return sum(min(max(done - start, 0), end - start) for start, end in parts), sum(e - s for s, e in parts)

    def rate(self, step: int) -> float:
        """Return the factor of the learning rate at a step."""
        stage = self.stage_of(step)
        start, length = self._starts[stage], self._starts[stage + 1] - self._starts[stage]
        return rate_at(step - start, self._warmup if self._warmup >= 1 else self._warmup * length, length)


def steps_within(share: float, steps: int) -> int:
    """Return the number of steps that start before a share of `steps` is over; the share may exceed 1."""
    return sum(step / steps < share for step in range(steps * max(1, math.ceil(share))))


def rate_at(step: int, warmup: float, steps: int) -> float:
    """Return the factor of the learning rate: it rises linearly to 1, then falls linearly to 0. Steps count from 0."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return max(0.0, (steps - step) / max(steps - warmup, 1.0))
