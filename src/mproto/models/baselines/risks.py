"""Losses of positive-unlabelled learning.

Zhou et al., *Distantly Supervised Named Entity Recognition via Confidence-Based Multi-Class Positive and Unlabeled
Learning* (ACL 2022). Labelled words are positive. Words without a label are *unlabelled*, U: entities or not. If π_i is the
share of all words that belong to type i, the loss on non-entities equals the loss on U minus that on the entities in U, of
which the labelled words are a sample.

The loss of a word is the mean absolute error between its probabilities and a one-hot target: ℓ(p, y) = 2 (1 − p_y) / K for
K classes. It is bounded, so that wrong labels cannot dominate.

Means are over the words of a step. In distributed training `all_reduce` sums over the processes, and each process gets its
own part of a mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.method.prototypes import OTHER
from mproto.method.reduction import single_process

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.reduction import AllReduce


def absolute_error(logits: Tensor, target: Tensor | int) -> Tensor:
    """Return ℓ, (N,): the error of the softmax of logits (N, K) for target classes (N,), or for one class for all words."""
    probabilities = logits.softmax(-1)
    if isinstance(target, int):
        return 2 * (1 - probabilities[:, target]) / logits.shape[-1]
    return 2 * (1 - probabilities.gather(1, target.unsqueeze(-1)).squeeze(-1)) / logits.shape[-1]


class Risks(NamedTuple):
    """Mean losses over the words of a step; 0 for classes without words.

    Attributes:
        positive: (K − 1,) R_i⁺, words labelled i, target i.
        negative: (K − 1,) R_i⁻, words labelled i, target O.
        unlabelled: () R_U⁻, words without a label, target O.
    """

    positive: Tensor
    negative: Tensor
    unlabelled: Tensor


def risks(logits: Tensor, labels: Tensor, all_reduce: AllReduce = single_process) -> Risks:
    """Return the mean losses of words with logits (N, K) and labels (N,)."""
    classes = logits.shape[-1]
    against_other = class_means(absolute_error(logits, OTHER), labels, classes, all_reduce)
    positive = class_means(absolute_error(logits, labels), labels, classes, all_reduce)
    return Risks(positive[1:], against_other[1:], against_other[OTHER])


def class_means(losses: Tensor, labels: Tensor, classes: int, all_reduce: AllReduce = single_process) -> Tensor:
    """Return (K,) the mean of the losses (N,) over the words of each class, or this process's part of it."""
    counts = all_reduce(torch.bincount(labels, minlength=classes))
    return losses.new_zeros(classes).index_add(0, labels, losses) / counts.clamp_min(1)


def mpn(found: Risks, priors: Tensor, weight: float) -> Tensor:
    """Return the loss that treats unlabelled words as O: m Σ π_i R_i⁺ + (1 − Σ π_i) R_U⁻."""
    return weight * (priors * found.positive).sum() + (1 - priors.sum()) * found.unlabelled


def mpu(found: Risks, priors: Tensor, weight: float, all_reduce: AllReduce = single_process) -> Tensor:
    """Return the loss of multi-class positive-unlabelled learning, with its non-negative correction.

    A = R_U⁻ − Σ π_i R_i⁻ estimates the loss on non-entities, which cannot be negative. If A is negative, the model has
    memorised the sample; the loss is then only −A, which reverses some of the memorisation.
    """
    others = found.unlabelled - (priors * found.negative).sum()
    if all_reduce(others.detach()) < 0:
        return -others
    return others + weight * (priors * found.positive).sum()


def conf_mpu(
    logits: Tensor,
    labels: Tensor,
    confidence: Tensor,
    priors: Tensor,
    *,
    weight: float,
    eta: float,
    all_reduce: AllReduce = single_process,
) -> Tensor:
    """Return the loss of multi-class positive-unlabelled learning with confidences.

    λ̂ is an estimate of each word's entity probability. Unlabelled words count as O only if λ̂ ≤ η.
    Labelled words with λ̂ > η replace the others, with weight 1/λ̂. If the positive part is
    negative, the loss is only the negative part.

    Args:
        logits: (N, K).
        labels: (N,).
        confidence: (N,) λ̂ > 0.
        priors: (K − 1,) π.
        weight: m.
        eta: η.
        all_reduce: sums over processes.
    """
    classes = logits.shape[-1]
    found = risks(logits, labels, all_reduce)
    against_other = absolute_error(logits, OTHER)
    sure = confidence > eta
    instead = class_means(against_other[sure] / confidence[sure], labels[sure], classes, all_reduce)[1:]
    positive = (priors * (found.positive - found.negative + instead)).sum()
    negative = class_means(against_other[~sure], labels[~sure], classes, all_reduce)[OTHER]
    if all_reduce(positive.detach()) < 0:
        return negative
    return weight * positive + negative
