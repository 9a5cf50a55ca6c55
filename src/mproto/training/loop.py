"""The training loop, one for all models. It yields what happens; showing and saving it is for others."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from mproto.errors import MprotoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from mproto.config import Training
    from mproto.models.base import Model
    from mproto.training.data import Data


@dataclass(frozen=True)
class Progress:
    """The state after a step.

    Attributes:
        step, steps: how many are done, and how many there will be.
        epoch: passes over the data so far.
        loss: of this step.
        learning_rate: of this step.
        words: that this step looked at.
        seconds: that this step took.
        logs: what else the model says about the step.
        score: on the development data, where this step ended with an evaluation.
        best: whether the model is now the one to keep.
    """

    step: int
    steps: int
    epoch: float
    loss: float
    learning_rate: float
    words: int
    seconds: float
    logs: dict[str, float] = field(default_factory=dict)
    score: float | None = None
    best: bool = False


class LossError(MprotoError):
    """The loss is no number any more."""


def fit(model: Model, data: Data, settings: Training, evaluate: Callable[[], float] | None) -> Iterator[Progress]:
    """Train a model, step by step. At the end it has the weights of the best evaluation, or the last ones without any.

    Args:
        model: changed in place.
        data: what it learns from.
        settings: of the loop.
        evaluate: gives the score of the model as it is; asked every `settings.evaluate_every` steps.

    Raises:
        LossError: the loss is not a number; the weights are those before the step.
    """
    generator = torch.Generator().manual_seed(settings.seed)
    model.eval()
    model.start(data.sample(settings, generator), generator)
    model.train()
    optimiser = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad],
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=True,  # unfused, the optimiser takes a third of a step of a small encoder on a CPU
    )
    per_epoch = len(data.batches(settings, torch.Generator().manual_seed(settings.seed)))
    steps = max(math.ceil(settings.epochs * per_epoch), settings.min_steps, 1)
    warmup = settings.warmup if settings.warmup >= 1 else settings.warmup * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step, warmup, steps))
    every = settings.evaluate_every or per_epoch
    best_score = -1.0
    best_state: dict[str, Tensor] = {}
    for step, indices in enumerate(_forever(data, settings, generator, steps), 1):
        begin = time.perf_counter()
        batch = data.batch(indices)
        outcome = model.step(batch, (step - 1) / steps)
        loss = outcome.loss.item()
        if not math.isfinite(loss):
            raise LossError(f"the loss is {loss} at step {step}")
        optimiser.zero_grad()
        outcome.loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_gradient_norm)
        rate = schedule.get_last_lr()[0]
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            outcome.finish()
        seconds = time.perf_counter() - begin
        score, best = None, False
        if step % every == 0 or step == steps:
            score = evaluate() if evaluate else None
            best = score is None or score > best_score
            if best and score is not None:
                best_score = score
                best_state = {name: value.clone() for name, value in model.state_dict().items()}
        yield Progress(
            step, steps, step / per_epoch, loss, float(rate), len(batch.rows), seconds, outcome.logs, score, best
        )
    if best_state:
        model.load_state_dict(best_state)
    model.eval()


def _forever(data: Data, settings: Training, generator: torch.Generator, steps: int) -> Iterator[list[int]]:
    done = 0
    while True:
        for indices in data.batches(settings, generator):
            yield indices
            done += 1
            if done == steps:
                return


def _rate(step: int, warmup: float, steps: int) -> float:
    """The share of the learning rate at a step, counted from 0: rising to 1, then falling to 0, both linearly."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return max(0.0, (steps - step) / max(steps - warmup, 1.0))
