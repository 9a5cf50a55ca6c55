"""Which weights a run ends with. Whoever trains from a dictionary has no labelled data to pick a checkpoint with.

- `last`: the mean of the weights over the last part of training.
- `gold`: the checkpoint with the best strict F1 on human labels, as in the paper. For comparison with it.
- `noisy`: the checkpoint with the best F1 on the dictionary's labels of documents that training does not see.
- `held-out`: the checkpoint that best finds, in documents that training does not see, mentions of terms that were hidden
  from it, without losing its agreement with the terms that were not (`held_out.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from mproto.models.base import Model


class Selection(ABC):
    """Follows a run and chooses among its weights."""

    def after_step(self, model: Model, step: int, steps: int) -> None:  # noqa: B027 (most need not)
        """Look at the weights after a step."""

    @abstractmethod
    def evaluate(self, model: Model) -> tuple[float | None, bool]:
        """The score of the weights as they are, if there is one, and whether they are now the ones to keep."""

    @abstractmethod
    def finish(self, model: Model) -> None:
        """Put the chosen weights into the model."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint must remember."""

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """The same, as far as JSON can hold it."""

    @abstractmethod
    def restore(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Go on from what a checkpoint remembered."""


class Best(Selection):
    """The weights with the highest score.

    Args:
        score: of the model as it is.
    """

    def __init__(self, score: Callable[[], float]) -> None:
        self._score = score
        self._best_score = float("-inf")
        self._weights: dict[str, Tensor] = {}

    def evaluate(self, model: Model) -> tuple[float, bool]:
        score = self._score()
        best = score > self._best_score
        if best:
            self._best_score = score
            self._weights = {name: value.clone() for name, value in model.state_dict().items()}
        return score, best

    def finish(self, model: Model) -> None:
        model.load_state_dict(self._weights)

    def tensors(self) -> dict[str, Tensor]:
        return self._weights

    def values(self) -> dict[str, Any]:
        return {"score": self._best_score if self._weights else None}

    def restore(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        self._weights = dict(tensors)
        self._best_score = float("-inf") if values["score"] is None else values["score"]


class Average(Selection):
    """The mean of the weights over the last part of training; the very last ones where that part is empty.

    Prototypes are averaged too; only their direction counts, so the mean of unit vectors will do.

    Args:
        share: of the steps that count.
        looks: about how often the weights are looked at in that time.
    """

    def __init__(self, share: float, looks: int = 20) -> None:
        self._share, self._looks = share, looks
        self._mean: dict[str, Tensor] = {}
        self._seen = 0

    @torch.no_grad()
    def after_step(self, model: Model, step: int, steps: int) -> None:
        first = steps - int(self._share * steps)
        every = max(1, (steps - first) // self._looks)
        if step <= first or (steps - step) % every:
            return
        self._seen += 1
        for name, value in model.state_dict().items():
            if not value.is_floating_point():
                continue
            mean = self._mean.get(name, value).to(value.device)
            self._mean[name] = mean + (value - mean) / self._seen

    def evaluate(self, model: Model) -> tuple[float | None, bool]:  # noqa: ARG002
        """No score; the weights of now are better than none, should training fail."""
        return None, True

    def finish(self, model: Model) -> None:
        model.load_state_dict({**model.state_dict(), **self._mean})

    def tensors(self) -> dict[str, Tensor]:
        return self._mean

    def values(self) -> dict[str, Any]:
        return {"seen": self._seen}

    def restore(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        self._mean, self._seen = dict(tensors), values["seen"]
