"""The interface of all denoisers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.method.assignment import Assignment, assign_within_class
from mproto.method.prototypes import OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

MIN_BETA = 0.5
"""Minimum β if it is estimated."""


class StepWords(NamedTuple):
    """The N words of a training step, from all processes.

    Attributes:
        similarity: (N, P) their similarities to the prototypes, without gradient.
        labels: (N,) long, their classes.
        ids: (N,) long, an id for each distinct word (`word_ids.py`).
        certain: (N,) bool, whether the document is human-labelled, so that O words are not entities.
    """

    similarity: Tensor
    labels: Tensor
    ids: Tensor
    certain: Tensor

    @property
    def uncertain(self) -> Tensor:
        """(N,) bool, the O words that may be unlabelled entities."""
        return (self.labels == OTHER) & ~self.certain


def _nothing() -> None:
    pass


class Denoised(NamedTuple):
    """The decision of a denoiser about a training step.

    Attributes:
        assignment: the prototypes assigned to the words of the step.
        commit: updates the state of the denoiser. Call it once, after the weights have been updated.
    """

    assignment: Assignment
    commit: Callable[[], None] = _nothing


class Denoiser(ABC):
    """Assigns the words of each training step, and leaves out O words that are probably unlabelled entities.

    Args:
        beta: β, the fraction of O words to keep as O.
    """

    def __init__(self, beta: float) -> None:
        self.beta = beta

    @abstractmethod
    def assign(self, words: StepWords, class_of: Tensor, progress: float) -> Denoised:
        """Assign the words of a step, without changing any state before `commit` is called.

        Args:
            words: the words of the step.
            class_of: (P,) long, the class of each prototype, grouped by class, O first.
            progress: fraction of the training that is done.
        """

    def learn_left_out(self, share: float) -> None:
        """Set β from the estimated share of O words to leave out."""
        self.beta = max(1 - share, MIN_BETA)

    def state(self) -> dict[str, Tensor]:
        """Return the state between two steps, for checkpoints."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:  # noqa: B027 (not all have a state)
        """Restore what `state` returned."""


class NoDenoising(Denoiser):
    """Trusts all labels: every word belongs to its own class."""

    def assign(self, words: StepWords, class_of: Tensor, progress: float) -> Denoised:  # noqa: ARG002
        return Denoised(keep_all(words, class_of))


def keep_all(words: StepWords, class_of: Tensor) -> Assignment:
    """Assign every word to a prototype of its own class, and leave none out."""
    target = assign_within_class(words.similarity, words.labels, class_of)
    return Assignment(target, torch.ones_like(words.labels, dtype=torch.bool))
