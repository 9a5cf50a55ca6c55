"""The paper's denoising: O words are transported to the prototypes of all classes (eq. DOT)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.denoising.base import Denoised, Denoiser, keep_all
from mproto.method.assignment import Assignment, assign_within_class, denoised_transport
from mproto.method.prototypes import OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from mproto.denoising.base import StepWords


class Transport(Denoiser):
    """Leaves out O words that the transport plan assigns to a prototype of an entity class.

    Args:
        beta: β, the fraction of O words that the plan should move to prototypes of O.
        start: fraction of the training after which denoising starts; 0 in the paper.
    """

    def __init__(self, beta: float, *, start: float = 0.0) -> None:
        super().__init__(beta)
        self._start = start

    def assign(self, words: StepWords, class_of: Tensor, progress: float) -> Denoised:
        transported = words.uncertain
        if progress < self._start or not bool(transported.any()):
            return Denoised(keep_all(words, class_of))
        similarity, labels = words.similarity, words.labels
        target = torch.zeros_like(labels)
        fixed = ~transported
        if bool(fixed.any()):
            target[fixed] = assign_within_class(similarity[fixed], labels[fixed], class_of)
        plan = denoised_transport(similarity[transported], class_of, self.beta)
        target[transported] = plan.matrix.argmax(-1)
        return Denoised(Assignment(target, fixed | (class_of[target] == OTHER)))

    def state(self) -> dict[str, Tensor]:
        return {"beta": torch.tensor(self.beta, dtype=torch.float64)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.beta = state["beta"].item()
