"""Assign words to prototypes: optimal transport within each class, and the denoised optimal transport of O words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from mproto.method.prototypes import OTHER
from mproto.method.sinkhorn import sinkhorn

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.sinkhorn import Plan


TIED = 1e-6
"""Shares of a word that differ by less are equal. Otherwise, rounding would decide, and several processes would differ from
one."""


@dataclass(frozen=True)
class Assignment:
    """The prototypes of the N words of a training step.

    Attributes:
        target: (N,) long, the prototype assigned to each word.
        keep: (N,) bool, whether the word takes part in the losses and in the prototype update. False for words
            that are labelled O and assigned to a prototype of another class.
    """

    target: Tensor
    keep: Tensor

    def part(self, rows: slice) -> Assignment:
        """Return the assignment of some of the words."""
        return Assignment(self.target[rows], self.keep[rows])


@torch.no_grad()
def assign_within_class(similarity: Tensor, labels: Tensor, class_of: Tensor) -> Tensor:
    """Assign each word to one of the M prototypes of its class (eq. OT0).

    A prototype takes n_c / M words. The problems of all classes are solved in one batch, padded to
    the largest number of words and prototypes. A word that is divided evenly, such as the only one of
    its class, is assigned to the nearest of its prototypes.

    Args:
        similarity: (N, P) of words and prototypes.
        labels: (N,) long, the class of each word.
        class_of: (P,) long, the class of each prototype, grouped by class.

    Returns:
        (N,) long, the assigned prototypes.
    """
    cost = 1 - similarity.to(torch.float64)
    sizes = torch.bincount(class_of)  # M of each class
    counts = torch.bincount(labels, minlength=len(sizes))
    place = torch.empty_like(labels)  # of each word among those of its class
    order = labels.argsort(stable=True)
    place[order] = torch.arange(len(labels), device=labels.device) - (counts.cumsum(0) - counts)[labels[order]]
    column = torch.arange(int(sizes.max()), device=labels.device)
    prototype = ((sizes.cumsum(0) - sizes).unsqueeze(-1) + column).clamp_max(len(class_of) - 1)  # (K, M)
    padded = cost.new_zeros(len(sizes), int(counts.max()), len(column))
    padded[labels, place] = cost.gather(1, prototype[labels])
    a = (torch.arange(padded.shape[1], device=labels.device) < counts.unsqueeze(-1)).to(cost.dtype)
    b = (column < sizes.unsqueeze(-1)) * (counts.to(cost.dtype) / sizes).unsqueeze(-1)
    shares = sinkhorn(padded, a, b).matrix[labels, place]  # (N, M) of the words
    tied = shares > shares.amax(-1, keepdim=True) - TIED
    nearest = padded[labels, place].masked_fill(~tied, torch.inf).argmin(-1, keepdim=True)
    return prototype[labels].gather(1, nearest).squeeze(-1)


@torch.no_grad()
def denoised_transport(similarity: Tensor, class_of: Tensor, beta: float) -> Plan:
    """Transport n O words to all P prototypes (eq. DOT).

    β·n of them go to the prototypes of O, the others to the rest. A word belongs to the prototype
    with the largest share of its row: if that is not a prototype of O, the word is probably an
    unlabelled entity.

    Args:
        similarity: (n, P) of O words and prototypes.
        class_of: (P,) long, the class of each prototype.
        beta: β.
    """
    cost = 1 - similarity.to(torch.float64)
    is_other = class_of == OTHER
    n, others, rest = len(cost), int(is_other.sum()), int((~is_other).sum())
    b = cost.new_full((len(class_of),), (1 - beta) * n / rest).masked_fill(is_other, beta * n / others)
    return sinkhorn(cost, cost.new_ones(n), b)
