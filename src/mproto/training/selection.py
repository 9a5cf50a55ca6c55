"""Choose the weights that a run ends with.

- `last`: the mean of the weights over the last part of the training. Needs no human labels.
- `dev`: the checkpoint with the best strict F1 on human-labelled development data, as in the paper.
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
    """Follows a run and chooses its final weights."""

    def after_step(self, model: Model, step: int, steps: int) -> None:  # noqa: B027 (most need not)
        """Observe the weights after a step."""

    @abstractmethod
    def evaluate(self, model: Model) -> tuple[float | None, bool]:
        """Return the score of the current weights, if there is one, and whether to keep them for now."""

    @abstractmethod
    def finish(self, model: Model) -> None:
        """Load the chosen weights into the model."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint needs."""

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """Return the other values that a checkpoint needs; JSON must be able to represent them."""

    @abstractmethod
    def restore(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Restore the tensors and values of a checkpoint."""


class Best(Selection):
    """Keeps the weights with the highest score.

    Args:
        score: returns the score of the model.
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
    """Averages the weights over the last part of the training of each model; keeps the final weights if that part is empty.

    Prototypes are averaged like weights, and then brought back to their length (`Model.after_averaging`).

    Args:
        share: final fraction of the steps to average over; only steps that count are included.
        samples: approximate number of weights in the average.
    """

    def __init__(self, share: float, samples: int = 20) -> None:
        self._share, self._samples = share, samples
        self._mean: dict[str, Tensor] = {}
        self._seen = 0

    @torch.no_grad()
    def after_step(self, model: Model, step: int, steps: int) -> None:
        first = steps - int(self._share * steps)
        every = max(1, (steps - first) // self._samples)
        if step <= first or (steps - step) % every:
            return
        self._seen += 1
        for name, value in model.state_dict().items():
            if not value.is_floating_point():
                continue
            mean = self._mean.get(name, value).to(value.device)
            self._mean[name] = mean + (value - mean) / self._seen

    def evaluate(self, model: Model) -> tuple[float | None, bool]:  # noqa: ARG002
        """Return no score; keep the current weights in case the training fails later."""
        return None, True

    def finish(self, model: Model) -> None:
        model.load_state_dict({**model.state_dict(), **self._mean})
        if self._mean:
            model.after_averaging()

    def tensors(self) -> dict[str, Tensor]:
        return self._mean

    def values(self) -> dict[str, Any]:
        return {"seen": self._seen}

    def restore(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        self._mean, self._seen = dict(tensors), values["seen"]
