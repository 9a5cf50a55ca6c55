"""When what happens in a run: its stages, each with a learning rate that rises and falls, and the steps of each."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.models.base import Stage


class Schedule:
    """The steps of a run, counted from 0.

    Attributes:
        steps: how many there are.

    Args:
        stages: of the model.
        steps: how many there would be in stages that add up to 1.
        warmup: how long the learning rate of a stage rises: a number of steps, or below 1 a share of the stage's steps.
    """

    def __init__(self, stages: Sequence[Stage], steps: int, warmup: float) -> None:
        self._stages, self._warmup = stages, warmup
        self._starts = [0]
        for end in accumulate(stage.share for stage in stages):
            self._starts.append(max(steps_within(end, steps), self._starts[-1] + 1))  # at least a step each
        self.steps = self._starts[-1]

    def stage_of(self, step: int) -> int:
        """The number of the stage that a step belongs to."""
        return next(number for number in range(len(self._stages)) if step < self._starts[number + 1])

    def begins(self, step: int) -> bool:
        """Whether a stage other than the first begins with a step."""
        return step in self._starts[1:-1]

    def counts(self, done: int) -> bool:
        """Whether the weights after so many steps may be kept."""
        return self._stages[self.stage_of(done - 1)].counts

    def counting(self, done: int) -> tuple[int, int]:
        """Of the steps that count, how many are done, and how many there are; the first is 0 before them."""
        parts = [part for stage, part in zip(self._stages, pairwise(self._starts), strict=True) if stage.counts]
        return sum(min(max(done - start, 0), end - start) for start, end in parts), sum(e - s for s, e in parts)

    def rate(self, step: int) -> float:
        """The share of the learning rate at a step."""
        stage = self.stage_of(step)
        start, length = self._starts[stage], self._starts[stage + 1] - self._starts[stage]
        return rate_at(step - start, self._warmup if self._warmup >= 1 else self._warmup * length, length)


def steps_within(share: float, steps: int) -> int:
    """How many of all steps begin before a share of training is over."""
    return sum(step / steps < share for step in range(steps))


def rate_at(step: int, warmup: float, steps: int) -> float:
    """The share of the learning rate at a step, counted from 0: rising to 1, then falling to 0, both linearly."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return max(0.0, (steps - step) / max(steps - warmup, 1.0))
