"""Positive-unlabelled learning: what a classifier costs, estimated from some words of each type and words of unknown kind.

Zhou et al., *Distantly Supervised Named Entity Recognition via Confidence-Based Multi-Class Positive and Unlabeled
Learning* (ACL 2022). Words with a label are positive; words without are *unlabelled*, U, entities or not. With the share
π_i of all words that are of type i, what non-entities cost follows from what U costs less what the entities among them
do, of which the labelled words are a sample.

The loss of a word is the mean absolute error between its probabilities and a one-hot target, which is bounded, so that
wrong labels cannot take over: ℓ(p, y) = 2 (1 − p_y) / K, for K classes.

Means are over a step's words; where several processes have parts of them, `total` adds up what they have, and each gets
its own part of a mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.method.prototypes import OTHER
from mproto.method.reduction import alone

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.reduction import Total


def absolute_error(logits: Tensor, target: Tensor | int) -> Tensor:
    """ℓ: the error (N,) of the softmax of logits (N, K) against classes (N,), or against one class for all."""
    probabilities = logits.softmax(-1)
    if isinstance(target, int):
        return 2 * (1 - probabilities[:, target]) / logits.shape[-1]
    return 2 * (1 - probabilities.gather(1, target.unsqueeze(-1)).squeeze(-1)) / logits.shape[-1]


class Risks(NamedTuple):
    """Mean losses of a step's words; 0 for classes without a word.

    Attributes:
        positive: (K − 1,) R_i⁺, of words labelled i against class i.
        negative: (K − 1,) R_i⁻, of words labelled i against O.
        unlabelled: () R_U⁻, of words without a label against O.
    """

    positive: Tensor
    negative: Tensor
    unlabelled: Tensor


def risks(logits: Tensor, labels: Tensor, total: Total = alone) -> Risks:
    """The risks of words with logits (N, K) and labels (N,)."""
    classes = logits.shape[-1]
    against_other = class_means(absolute_error(logits, OTHER), labels, classes, total)
    positive = class_means(absolute_error(logits, labels), labels, classes, total)
    return Risks(positive[1:], against_other[1:], against_other[OTHER])


def class_means(losses: Tensor, labels: Tensor, classes: int, total: Total = alone) -> Tensor:
    """(K,) the mean of the losses (N,) of each class's words, or this process's part of it."""
    counts = total(torch.bincount(labels, minlength=classes))
    return losses.new_zeros(classes).index_add(0, labels, losses) / counts.clamp_min(1)


def mpn(found: Risks, priors: Tensor, weight: float) -> Tensor:
    """Unlabelled words taken for O: m Σ π_i R_i⁺ + (1 − Σ π_i) R_U⁻."""
    return weight * (priors * found.positive).sum() + (1 - priors.sum()) * found.unlabelled


def mpu(found: Risks, priors: Tensor, weight: float, total: Total = alone) -> Tensor:
    """Multi-class positive-unlabelled learning, with its non-negative correction.

    A = R_U⁻ − Σ π_i R_i⁻ is what non-entities cost. It cannot be negative; where it is, the model has learnt the sample by
    heart, and only −A is left, which undoes some of that.
    """
    others = found.unlabelled - (priors * found.negative).sum()
    if total(others.detach()) < 0:
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
    total: Total = alone,
) -> Tensor:
    """The same, helped by an estimate of how likely each word is to be an entity's.

    Unlabelled words count as O only where λ̂ ≤ η. What the others would have cost is made up for by labelled words with
    λ̂ > η, each for 1/λ̂ words. Where the positive part comes out negative, the other one is left.

    Args:
        logits: (N, K).
        labels: (N,).
        confidence: (N,) λ̂ > 0.
        priors: (K − 1,) π.
        weight: m.
        eta: η.
        total: see above.
    """
    classes = logits.shape[-1]
    found = risks(logits, labels, total)
    against_other = absolute_error(logits, OTHER)
    sure = confidence > eta
    instead = class_means(against_other[sure] / confidence[sure], labels[sure], classes, total)[1:]
    positive = (priors * (found.positive - found.negative + instead)).sum()
    negative = class_means(against_other[~sure], labels[~sure], classes, total)[OTHER]
    if total(positive.detach()) < 0:
        return negative
    return weight * positive + negative
