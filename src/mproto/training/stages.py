"""The stages of a run: those of the judges of cross-fitting, then those of each of the models whose weights are averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.training.length import MOST_STEPS

if TYPE_CHECKING:
    from mproto.config.settings import Training
    from mproto.models.base import Model, Stage
    from mproto.training.cross_fitting import CrossFitting


class Stages:
    """All stages of a run, in their order.

    Without cross-fitting there is one model, and its stages are all there are.

    Args:
        model: the model to train.
        cross_fitting: the judges, and the division of the text for the models whose weights are averaged; or None.
        settings: the settings of the loop.

    Attributes:
        all: the stages.
        judges: the number of judges, with one stage each.
        own: the number of stages of each other model.
    """

    def __init__(self, model: Model, cross_fitting: CrossFitting | None, settings: Training) -> None:
        judges: tuple[Stage, ...] = ()
        own, parts = model.stages, 1
        if cross_fitting:
            judges, parts = cross_fitting.stages, cross_fitting.parts
            most = max(MOST_STEPS, settings.min_steps) if settings.epochs == "auto" else None
            text = (parts - 1) / parts if parts > 1 else 1.0  # the share that each model learns
            own = tuple(stage._replace(share=stage.share * text, most=most) for stage in own)
        self.all = (*judges, *own * parts)
        self.judges, self.own = len(judges), len(own)

    def is_judge(self, stage: int) -> bool:
        """Return whether a stage trains a judge."""
        return stage < self.judges

    def part(self, stage: int) -> int:
        """Return which of the models whose weights are averaged a stage trains."""
        return (stage - self.judges) // self.own

    def same_model(self, stage: int) -> range:
        """Return the stages that train the same model as this one."""
        if self.is_judge(stage):
            return range(stage, stage + 1)
        first = self.judges + self.part(stage) * self.own
        return range(first, first + self.own)

    def number_within_model(self, stage: int) -> int:
        """Return the number of a stage among those of its model; negative for judges."""
        return stage - self.judges if self.is_judge(stage) else (stage - self.judges) % self.own
