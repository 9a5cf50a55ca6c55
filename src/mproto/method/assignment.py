"""Which prototype each word should be near: optimal transport per class, and the denoised transport of O words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import torch

from mproto.method.converged import converged_transport
from mproto.method.prototypes import OTHER
from mproto.method.sinkhorn import sinkhorn

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from mproto.method.sinkhorn import Plan


@dataclass(frozen=True)
class Transport:
    """How transport problems are solved.

    Attributes:
        solver: `sinkhorn`, cut off after `iterations`, which is the paper's method; or `converged`, which is another. With
            `threshold`, problems of single classes are solved like the first, and O words are not transported (`doubt.py`).
        epsilon: λʳ, the weight of the entropy.
        iterations: of `sinkhorn`.
        tolerance: of `converged`.
    """

    solver: Literal["sinkhorn", "converged", "threshold"] = "sinkhorn"
    epsilon: float = 0.001
    iterations: int = 100
    tolerance: float = 1e-4

    def __call__(self, cost: Tensor, a: Tensor, b: Tensor) -> Plan:
        solve: Callable[..., Plan] = (
            partial(converged_transport, tolerance=self.tolerance)
            if self.solver == "converged"
            else partial(sinkhorn, iterations=self.iterations)
        )
        return solve(cost, a, b, epsilon=self.epsilon)


@dataclass(frozen=True)
class Assignment:
    """Where the N words of a step belong.

    Attributes:
        target: (N,) long, the prototype assigned to each word.
        keep: (N,) bool, whether the word takes part in the losses and in the update: true for every word that is labelled
            as an entity, and for those O words that went to a prototype of O.
        mass: (N, K) the share of each word's mass that went to the prototypes of each class.
    """

    target: Tensor
    keep: Tensor
    mass: Tensor

    def part(self, rows: slice) -> Assignment:
        """The same for some of the words."""
        return Assignment(self.target[rows], self.keep[rows], self.mass[rows])


@torch.no_grad()
def assign(
    similarity: Tensor,
    labels: Tensor,
    class_of: Tensor,
    transport: Transport,
    *,
    beta: float | None = None,
    certain: Tensor | None = None,
    doubtful: Tensor | None = None,
) -> Assignment:
    """Assign every word a prototype: of its own class (eq. OT0), or, with β, of any class for words labelled O (eq. DOT).

    Args:
        similarity: (N, P) of words and prototypes.
        labels: (N,) long, the class of each word.
        class_of: (P,) long, the class of each prototype: grouped, O first.
        transport: how the problems are solved.
        beta: β, the share of O words that is expected at O prototypes; `None` assigns O words like all others.
        certain: (N,) bool, words whose label is beyond doubt, O or not: they are assigned to their own class.
        doubtful: (N,) bool, words labelled O that are not to be taken for O; instead of β, where that is known (`doubt.py`).
    """
    cost = 1 - similarity.to(torch.float64)
    classes = int(class_of[-1]) + 1
    target = torch.zeros_like(labels)
    mass = torch.nn.functional.one_hot(labels, classes).to(cost.dtype)
    own_class = torch.ones_like(labels, dtype=torch.bool) if beta is None else labels != OTHER
    if certain is not None:
        own_class = own_class | certain
    if doubtful is not None:
        own_class = ~doubtful
    if bool(own_class.any()):
        target[own_class] = _per_class(cost[own_class], labels[own_class], class_of, transport)
    if not bool(own_class.all()):
        others = cost[~own_class]
        target[~own_class], mass[~own_class] = (
            _denoised(others, class_of, transport, beta or 0.0) if doubtful is None else _elsewhere(others, class_of)
        )
    return Assignment(target, own_class | (class_of[target] == OTHER), mass.to(similarity.dtype))


def _per_class(cost: Tensor, labels: Tensor, class_of: Tensor, transport: Transport) -> Tensor:
    """Eq. OT0: each word to one of its own class's M prototypes, each prototype to n_c / M words. Targets (N,).

    All classes are solved at once, filled up to the words of the largest and the prototypes of the largest.
    """
    sizes = torch.bincount(class_of)  # M of each class
    counts = torch.bincount(labels, minlength=len(sizes))
    place = torch.empty_like(labels)  # of each word among those of its class
    order = labels.argsort(stable=True)
    place[order] = torch.arange(len(labels), device=labels.device) - (counts.cumsum(0) - counts)[labels[order]]
    column = torch.arange(int(sizes.max()), device=labels.device)
    prototype = ((sizes.cumsum(0) - sizes).unsqueeze(-1) + column).clamp_max(len(class_of) - 1)  # (K, M)
    filled = cost.new_zeros(len(sizes), int(counts.max()), len(column))
    filled[labels, place] = cost.gather(1, prototype[labels])
    a = (torch.arange(filled.shape[1], device=labels.device) < counts.unsqueeze(-1)).to(cost.dtype)
    b = (column < sizes.unsqueeze(-1)) * (counts.to(cost.dtype) / sizes).unsqueeze(-1)
    plan = transport(filled, a, b).matrix
    return prototype[labels].gather(1, plan[labels, place].argmax(-1, keepdim=True)).squeeze(-1)


def _denoised(cost: Tensor, class_of: Tensor, transport: Transport, beta: float) -> tuple[Tensor, Tensor]:
    """Eq. DOT: O words to any prototype, β of them expected at those of O. Targets (n,) and mass per class (n, K)."""
    is_other = class_of == OTHER
    others, rest = int(is_other.sum()), int((~is_other).sum())
    words = len(cost)
    b = cost.new_full((len(class_of),), (1 - beta) * words / rest).masked_fill(is_other, beta * words / others)
    plan = transport(cost, cost.new_ones(words), b).matrix
    mass = plan.new_zeros(words, int(class_of[-1]) + 1).index_add_(1, class_of, plan)
    return plan.argmax(-1), mass


def _elsewhere(cost: Tensor, class_of: Tensor) -> tuple[Tensor, Tensor]:
    """Each word to the nearest prototype that is not one of O, with all its mass."""
    target = cost.masked_fill(class_of == OTHER, torch.inf).argmin(-1)
    return target, torch.nn.functional.one_hot(class_of[target], int(class_of[-1]) + 1).to(cost.dtype)
