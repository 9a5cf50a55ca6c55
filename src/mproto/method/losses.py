"""The losses: tensors in, a scalar out.

With a temperature of 1 and a similarity of at most 1, a softmax over 15 prototypes never gives one of them more than 0.35,
so the paper's cross-entropy stays far from 0 and its gradients stay small. Dividing similarities by a temperature below 1
sharpens it. And since every prototype but the target is a negative, the other prototypes of the word's own class push
it away; merging the prototypes of a class before the softmax leaves them out of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from mproto.method.prototypes import OTHER
from mproto.method.reduction import alone

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.reduction import Total


def prototype_cross_entropy(
    similarity: Tensor, target: Tensor, temperature: Tensor | float = 1.0, weights: Tensor | None = None
) -> Tensor:
    """Eq. RawCE and, over the kept words, eq. CE: the mean of −log softmax(s / τ) at the assigned prototype.

    Args:
        similarity: (N, P) s; N may be 0, and the loss is then 0.
        target: (N,) long, the prototype assigned to each word.
        temperature: τ; 1 in the paper.
        weights: (N,) of the words in the mean; alike in the paper.
    """
    return _mean(cross_entropy(similarity / temperature, target, reduction="none"), weights)


def class_logits(similarity: Tensor, class_of: Tensor, temperature: Tensor | float = 1.0) -> Tensor:
    """The prototypes of each class merged: log Σ exp(s / τ) over those of class k, (N, P) to (N, K)."""
    logits = similarity / temperature
    zeros = logits.new_zeros(len(logits), int(class_of[-1]) + 1)
    # The largest of each class, not of all: a class far from the word would be lost, and with it the gradient towards it.
    top = zeros.scatter_reduce(1, class_of.expand_as(logits), logits.detach(), "amax", include_self=False)
    return zeros.index_add(1, class_of, (logits - top[:, class_of]).exp()).log() + top


def class_cross_entropy(
    similarity: Tensor,
    labels: Tensor,
    class_of: Tensor,
    temperature: Tensor | float = 1.0,
    weights: Tensor | None = None,
) -> Tensor:
    """The mean cross-entropy over classes, same-class prototypes merged: which of them is near does not matter.

    Args:
        similarity: (N, P) s.
        labels: (N,) long, the class of each word.
        class_of: (P,) long, the class of each prototype.
        temperature: τ.
        weights: (N,) of the words in the mean.
    """
    return _mean(cross_entropy(class_logits(similarity, class_of, temperature), labels, reduction="none"), weights)


def compactness(similarity: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    """Eq. CompactLoss: the mean of d² = (1 − s)² between words and their prototypes.

    Args:
        similarity: (N, P) s.
        target: (N,) long, the prototype assigned to each word.
        weights: (N,) of the words in the mean.
    """
    return _mean((1 - similarity.gather(1, target.unsqueeze(-1)).squeeze(-1)) ** 2, weights)


def labelled_weights(labels: Tensor, least: float, total: Total = alone) -> Tensor:
    """How much each word counts (N,): 1, but labelled ones as much as makes them a share of all.

    Where a dictionary knows a tenth of what there is, hardly a word in a hundred has a label, and a model that takes every
    word for O is nearly right. Labelled words stand for the others, too.

    Args:
        labels: (N,) long, the class of each word.
        least: the share of labelled words, below 1; where they are more, they stay so.
        total: adds up over several processes.
    """
    is_labelled = labels != OTHER
    labelled, others = total(torch.stack([is_labelled.sum(), (~is_labelled).sum()])).tolist()
    weight = max(1.0, least / (1 - least) * others / max(labelled, 1))
    return torch.where(is_labelled, weight, 1.0)


def _mean(losses: Tensor, weights: Tensor | None) -> Tensor:
    if weights is None:
        return losses.sum() / max(len(losses), 1)
    return (weights * losses).sum() / weights.sum().clamp_min(torch.finfo(losses.dtype).tiny)
