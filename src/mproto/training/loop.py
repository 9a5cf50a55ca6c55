"""The training loop, one for all models. It yields the progress; callers show and save it."""

from __future__ import annotations

import math
import sys
import time
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from mproto.errors import MprotoError
from mproto.models.base import Preview
from mproto.models.batch import only_words
from mproto.training.distributed import share_gradients
from mproto.training.length import PREDICTION, TIMED, planned_steps
from mproto.training.random_states import random_states, set_random_states
from mproto.training.schedule import Schedule
from mproto.training.stages import Stages

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from mproto.config.settings import Training
    from mproto.models.base import Model, Step
    from mproto.models.batch import Batch
    from mproto.training.cross_fitting import CrossFitting
    from mproto.training.data import Data
    from mproto.training.hold_out import HoldOut
    from mproto.training.selection import Selection

MIN_EVALUATIONS = 4
"""Minimum number of evaluations with `evaluate_every = 0`."""
WEIGHT_DECAY = 1e-4
MAX_GRADIENT_NORM = 1.0
"""As in the paper."""


@dataclass(frozen=True)
class Progress:
    """The progress after a step.

    Attributes:
        step: number of steps done.
        steps: total number of steps.
        epoch: passes over the data so far.
        loss: the loss of this step.
        learning_rate: the learning rate of this step.
        words: number of words in this step.
        seconds: duration of this step.
        memory: peak memory of this process in megabytes; 0 if unknown.
        logs: further values that the model reports.
        score: the score of the evaluation after this step, if there was one.
        best: whether the current weights are the ones to keep.
    """

    step: int
    steps: int
    epoch: float
    loss: float
    learning_rate: float
    words: int
    seconds: float
    memory: int = 0
    logs: dict[str, float] = field(default_factory=dict)
    score: float | None = None
    best: bool = False


class LossError(MprotoError):
    """The loss is not a finite number."""


class State(NamedTuple):
    """Everything needed to resume after a step: tensors, and values that JSON can represent."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]


class Loop:
    """One training run, step by step.

    Args:
        model: trained in place.
        data: training data.
        settings: the settings of the loop.
        selection: chooses the weights that the model has at the end.
        hold_out: the hold-out phase, for models that use its estimate.
        cross_fitting: the stages before the training of this model, which decide on the labels that it learns.
        measure: further values to log at every evaluation.
    """

    def __init__(
        self,
        model: Model,
        data: Data,
        settings: Training,
        selection: Selection,
        hold_out: HoldOut | None = None,
        cross_fitting: CrossFitting | None = None,
        measure: Callable[[], dict[str, float]] = dict,
    ) -> None:
        self.model, self.data, self.settings, self.selection = model, data, settings, selection
        self.group = model.group
        size = self.group.size
        self._planning = replace(
            settings, batch_size=size * settings.batch_size, token_budget=size * settings.token_budget
        )
        self._shared = share_gradients(model, self.group)
        self.parameters = {name: value for name, value in model.named_parameters() if value.requires_grad}
        self.optimiser = self._new_optimiser()
        self.per_epoch = len(data.batches(self._planning, torch.Generator().manual_seed(settings.seed)))
        self._cross_fitting, self._stages = cross_fitting, Stages(model, cross_fitting, settings)
        self._hold_out, self._measure = hold_out, measure
        self._plan(planned_steps(settings, self.per_epoch))
        self._pretrained = _copies(model.state_dict()) if cross_fitting else {}
        self._untrained = _copies(model.working_state()) if cross_fitting else {}
        self._fitted: tuple[int, Data] | None = None
        self._seconds: list[float] = []
        self.step = 0
        self._generator = torch.Generator().manual_seed(settings.seed)
        self._epoch = _Epoch(self._generator.get_state(), [], 0)

    def _plan(self, length: int) -> None:
        """Plan the training.

        Args:
            length: number of steps of a stage whose share is 1.
        """
        self._length = length
        self._schedule = Schedule(self._stages.all, length, self.settings.warmup)
        self.steps = self._schedule.steps
        self._hold_out_steps = self._hold_out.steps(length) if self._hold_out else 0

    def start(self) -> None:
        """Prepare the model before the first step. A run that resumes from a state must not call this."""
        self._prepare()

    def _prepare(self) -> None:
        self.model.eval()
        data, sample, generator = self.data, self._labelled, self._generator
        if self._cross_fitting and self._stages.is_judge(self._schedule.stage_of(self.step)):
            data = self._labelled
        elif self._cross_fitting:  # models whose weights are averaged start from the same prototypes
            data = sample = self._cross_fitting.relabelled
            generator = torch.Generator().manual_seed(self.settings.seed)
        batches = (batch.to(self.model.device) for batch in sample.sample(self.settings, generator))
        self.model.prepare(Preview(data.tags, data.spellings, data.labelled_shares(), batches, generator))

    def _new_optimiser(self) -> torch.optim.AdamW:
        return torch.optim.AdamW(
            self.parameters.values(),
            lr=self.settings.learning_rate,
            weight_decay=WEIGHT_DECAY,
            fused=True,  # unfused, the optimiser takes a third of the time of a step, for a small encoder on a CPU
        )

    def run(self) -> Iterator[Progress]:
        """Train to the end. Afterwards the model has the weights that the selection chose.

        Raises:
            LossError: the loss is not a finite number; the weights are those before the step.
        """
        self.model.train()
        while self.step < self.steps:
            begin = time.perf_counter()
            estimates = {}
            if self._hold_out and self.step == self._hold_out_steps:
                estimates = self._hold_out.finish(self.model)
            estimates |= self._enter_stage()
            batch = self._own_part(self._next()).to(self.model.device)
            rate = self.settings.learning_rate * self._schedule.rate(self.step)
            loss, logs, words = self._update(batch, rate)
            logs |= estimates
            self.step += 1
            seconds = time.perf_counter() - begin
            score, best = None, False
            if self._schedule.counts(self.step):
                stages = self._stages.same_model(self._schedule.stage_of(self.step - 1))
                self.selection.after_step(self.model, *self._schedule.counting(self.step, stages))
            if self.step == self.steps or (self.step % self._every == 0 and self._schedule.counts(self.step)):
                score, best = self.selection.evaluate(self.model)
                logs |= self._measure()
            epoch = self.step / self.per_epoch
            if self.settings.minutes and self.step <= TIMED[-1]:
                self._keep_to_minutes(seconds)
            yield Progress(self.step, self.steps, epoch, loss, rate, words, seconds, _peak_memory(), logs, score, best)
        if self._cross_fitting:
            self._cross_fitting.finish_part(self._cross_fitting.parts - 1, self.model)
        self.selection.finish(self.model)
        self.model.eval()

    @property
    def _every(self) -> int:
        """The number of steps between two evaluations."""
        counted = self._schedule.counting(self.steps)[1]
        return self.settings.evaluate_every or min(self.per_epoch, math.ceil(counted / MIN_EVALUATIONS))

    def _keep_to_minutes(self, seconds: float) -> None:
        """Shorten the training after its first steps if it would take too long.

        Args:
            seconds: duration of this step.
        """
        if self.step in TIMED:
            self._seconds.append(seconds)
        if self.step == TIMED[-1]:
            total = self.group.sum(torch.tensor([sum(self._seconds)], dtype=torch.float64)).item()
            step = total / len(self._seconds) / self.group.size
            passes = self._stages.judges + 1 if self._cross_fitting else 0  # each process predicts all words
            predictions = PREDICTION * passes * self.per_epoch * self.group.size
            affordable = 60 * self.settings.minutes / step - predictions
            first = self._stages.all[0].share
            if self._hold_out and self.step <= self._hold_out_steps:
                first = min(first, self._hold_out.share)
            least = math.ceil((self.step + 1) / first)  # the next step stays in the same stage and phase
            lengths = range(1, self._length + 1)
            place = bisect_right(
                lengths, affordable, key=lambda n: Schedule(self._stages.all, n, self.settings.warmup).steps
            )
            self._plan(min(max(least, place), self._length))

    def _own_part(self, indices: list[int]) -> Batch:
        """Return this process's part of a batch; if it is empty, a window without words."""
        rank, size, count = self.group.rank, self.group.size, len(indices)
        own = indices[count * rank // size : count * (rank + 1) // size]
        if own:
            return self._labelled.batch(own)
        other = self._labelled.batch(indices[:1])  # all processes must take the same steps
        return only_words(other, torch.zeros(len(other.rows), dtype=torch.bool))

    def _update(self, batch: Batch, rate: float) -> tuple[float, dict[str, float], int]:
        """Take one step: update the weights, then the other state of the model."""
        outcome: Step = self._shared(batch, self._progress)
        parts = torch.tensor([outcome.loss.item(), *outcome.logs.values(), 1.0], dtype=torch.float64) * outcome.weight
        *sums, weight, words = self.group.sum(torch.cat([parts, torch.tensor([len(batch.rows)])])).tolist()
        loss, *logs = (value / max(weight, 1) for value in sums)
        if not math.isfinite(loss):
            raise LossError(f"the loss is {loss} at step {self.step + 1}")
        # Gradients are averaged over processes, but the loss is a mean over words.
        share = outcome.weight * self.group.size / max(weight, 1)
        (share * outcome.loss).backward()
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), MAX_GRADIENT_NORM)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.optimiser.zero_grad()  # frees memory before the next forward pass
        with torch.no_grad():
            outcome.finish()
        return loss, dict(zip(outcome.logs, logs, strict=True)), int(words)

    @property
    def _progress(self) -> float:
        """The fraction of the training of this model that is done."""
        stages = self._stages.same_model(self._schedule.stage_of(self.step))
        start, end = (self._schedule.start_of(number) for number in (stages.start, stages.stop))
        return (self.step - start) / (end - start)

    @property
    def _labelled(self) -> Data:
        """The training data of this step; after the last step, those of the last one."""
        if self._cross_fitting:
            stage = self._schedule.stage_of(min(self.step, self.steps - 1))
            if self._fitted is None or self._fitted[0] != stage:
                fit = self._cross_fitting
                judge = self._stages.is_judge(stage)
                self._fitted = stage, fit.data(stage) if judge else fit.part(self._stages.part(stage))
            return self._fitted[1]
        return self._hold_out.data if self._hold_out and self.step < self._hold_out_steps else self.data

    def _enter_stage(self) -> dict[str, float]:
        """Set the stage of the model; start the stage if this is its first step. Return new estimates."""
        stage = self._schedule.stage_of(self.step)
        self.model.stage = self._stages.number_within_model(stage)
        if not self._schedule.begins(self.step):
            return {}
        estimates = {}
        if self._cross_fitting and self.model.stage <= 0:
            if self._stages.is_judge(stage - 1):
                estimates = self._cross_fitting.finish(stage - 1, self.model)
            else:
                self._cross_fitting.finish_part(self._stages.part(stage - 1), self.model)
            self._fitted = None
            self._epoch.position = len(self._epoch.batches)  # other windows
            self.model.load_state_dict(self._pretrained)
            self.model.restore_working_state(_copies(self._untrained))
            self._prepare()
        else:
            self.model.eval()
            everything = self._labelled.in_order(range(len(self._labelled.windows)), self.settings)
            self.model.begin(self._labelled.batch(indices).to(self.model.device) for indices in everything)
        self.model.train()
        self.optimiser = self._new_optimiser()
        return estimates

    def _next(self) -> list[int]:
        """Return the windows of the next batch; draw a new epoch after the last one."""
        if self._epoch.position == len(self._epoch.batches):
            self._draw()
        self._epoch.position += 1
        return self._epoch.batches[self._epoch.position - 1]

    def _draw(self) -> None:
        """Draw the batches of a new epoch."""
        start = self._generator.get_state()
        self._epoch = _Epoch(start, self._labelled.batches(self._planning, self._generator), 0)

    def state(self) -> State:
        """Return everything needed to resume from here to the same result, bit for bit."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        for name, parameter in self.parameters.items():
            for key, value in self.optimiser.state.get(parameter, {}).items():
                tensors[f"optimiser.{key}.{name}"] = value
        tensors |= {f"working.{name}": value for name, value in self.model.working_state().items()}
        tensors |= {f"selection.{name}": value for name, value in self.selection.tensors().items()}
        if self._cross_fitting:
            tensors |= {f"cross_fitting.{name}": value for name, value in self._cross_fitting.state().items()}
        for name, value in random_states(self.model.device).items():
            tensors[f"random.{name}"], _ = self.group.gather(value.unsqueeze(0))
        tensors |= {"generator.epoch": self._epoch.start, "generator.now": self._generator.get_state()}
        values = {
            "step": self.step,
            "length": self._length,
            "seconds": list(self._seconds),
            "position": self._epoch.position,
            "selection": self.selection.values(),
        }
        return State(tensors, values)

    def restore(self, state: State) -> None:
        """Resume from a state of a run with the same model, data and settings."""
        groups = _by_prefix(state.tensors)
        self._plan(state.values["length"])
        self._seconds = list(state.values["seconds"])
        self.model.load_state_dict(groups["model"])
        self.model.restore_working_state(groups.get("working", {}))
        if self._cross_fitting:
            self._cross_fitting.restore(groups["cross_fitting"], self.model)
        moments = _by_prefix(groups["optimiser"])
        self.optimiser.load_state_dict(
            {
                **self.optimiser.state_dict(),
                "state": {
                    i: {key: values[name] for key, values in moments.items()}
                    for i, name in enumerate(self.parameters)
                    if name in moments["step"]
                },
            }
        )
        self.selection.restore(groups.get("selection", {}), state.values["selection"])
        # Cloned: PyTorch 2.13 cannot set a state that is a view into other data, and may even crash.
        own = {name: value[self.group.rank].clone() for name, value in groups["random"].items()}
        set_random_states(own, self.model.device)
        self.step = state.values["step"]
        self._generator.set_state(groups["generator"]["epoch"])
        self._draw()
        self._epoch.position = state.values["position"]
        self._generator.set_state(groups["generator"]["now"])  # a stage that started since has drawn from it, too


@dataclass
class _Epoch:
    """The current epoch: the generator state before its batches were drawn, the batches, and how many are done."""

    start: Tensor
    batches: list[list[int]]
    position: int


def _peak_memory() -> int:
    if sys.platform == "win32":
        return 0
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // 2**20


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in tensors.items()}


def _by_prefix(tensors: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    groups: dict[str, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        prefix, _, rest = name.partition(".")
        groups.setdefault(prefix, {})[rest] = value
    return groups
