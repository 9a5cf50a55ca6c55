"""Our additions to the losses of the paper: cross-entropy over classes, and weights for labelled words.

With a temperature of 1 and similarities of at most 1, a softmax over 15 prototypes never exceeds 0.35. The paper's
cross-entropy therefore stays far from 0, and its gradients stay small; a temperature below 1 sharpens the softmax.
The paper also treats every prototype but the target as a negative, including the other prototypes of the word's own
class, which push the word away. Merging the prototypes of a class before the softmax avoids that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from mproto.method.prototypes import OTHER
from mproto.method.reduction import single_process

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.reduction import AllReduce


def class_logits(similarity: Tensor, class_of: Tensor, temperature: float = 1.0) -> Tensor:
    """Merge the prototypes of each class: log Σ exp(s / τ) over the prototypes of a class.

    Args:
        similarity: (N, P) s, of words and prototypes.
        class_of: (P,) long, the class of each prototype.
        temperature: τ.

    Returns:
        (N, K) logits.
    """
    logits = similarity / temperature
    zeros = logits.new_zeros(len(logits), int(class_of[-1]) + 1)
    # Shifted by the maximum of each class. With the overall maximum, distant classes would underflow, and so would
    # their gradients.
    top = zeros.scatter_reduce(1, class_of.expand_as(logits), logits.detach(), "amax", include_self=False)
    return zeros.index_add(1, class_of, (logits - top[:, class_of]).exp()).log() + top


def class_cross_entropy(similarity: Tensor, labels: Tensor, class_of: Tensor, temperature: float = 1.0) -> Tensor:
    """Return the cross-entropy over classes, in which a word may be near any prototype of its class.

    Args:
        similarity: (N, P) s.
        labels: (N,) long, the class of each word.
        class_of: (P,) long, the class of each prototype.
        temperature: τ.

    Returns:
        (N,) losses.
    """
    return cross_entropy(class_logits(similarity, class_of, temperature), labels, reduction="none")


def labelled_weights(labels: Tensor, min_share: float, all_reduce: AllReduce = single_process) -> Tensor:
    """Weight words so that the labelled ones make up a minimum share of the loss.

    With a small dictionary hardly one word in a hundred has a label, and a model that predicts O everywhere is nearly
    perfect on the labels. Labelled words also stand for the entities that have no label.

    Args:
        labels: (N,) long, the class of each word.
        min_share: minimum share of labelled words, below 1. If they have more already, all weights are 1.
        all_reduce: sums over all processes of distributed training.

    Returns:
        (N,) weights; 1 for O words.
    """
    is_labelled = labels != OTHER
    labelled, others = all_reduce(torch.stack([is_labelled.sum(), (~is_labelled).sum()])).tolist()
    weight = max(1.0, min_share / (1 - min_share) * others / max(labelled, 1))
    return torch.where(is_labelled, weight, 1.0)


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted mean of the losses (N,); 0 for N = 0."""
    return (weights * losses).sum() / weights.sum().clamp_min(torch.finfo(losses.dtype).tiny)
