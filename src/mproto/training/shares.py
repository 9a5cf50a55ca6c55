"""How many of the words without a label are entities, worked out without human labels.

Some words are kept aside: for a while the model learns nothing of their mentions, labelled or not. To it, a labelled
mention of such a word is what one of a term is that the dictionary lacks: a word of an entity, of which nobody told it. So
where, at some threshold, it takes a share q⁺ of the labelled mentions for entities, it takes about the same share of the
entities among the others for entities, and the share q of all the others that it takes for entities cannot be smaller than
π · q⁺. Hence π ≤ q / q⁺ at every threshold. The least such bound that the numbers of words allow to trust is the estimate:
best bin estimation (Garg et al., *Mixture Proportion Estimation and PU Learning: A Modern Approach*, 2021).
"""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import torch

from mproto.models.base import Shares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

CONFIDENCE, MARGIN = 0.1, 0.01
"""δ and γ of the paper on best bin estimation."""
SHARED = 0.75
"""How much all mentions of a word say about each."""


def log_odds(answers: Tensor, words: Tensor) -> Tensor:
    """How likely each mention (N,) is an entity's, as logarithms of odds, mixed with the mean over all mentions of its word.

    Args:
        answers: (N, K) log-probabilities of the classes, O first.
        words: (N,) long, a number for each word, the same for the same word.
    """
    odds = torch.logsumexp(answers[:, 1:], 1) - answers[:, 0]
    sums = odds.new_zeros(int(words.max()) + 1 if len(words) else 0)
    means = sums.index_add(0, words, odds) / torch.bincount(words, minlength=len(sums)).clamp_min(1)
    return (1 - SHARED) * odds + SHARED * means[words]


def mixture_share(mixed: Tensor, positive: Tensor, size: float) -> float:
    """The share of positive values in a mixture, given some positive ones.

    Args:
        mixed: (n,) scores of the mixture; higher for positive ones, more or less.
        positive: (m,) scores of positive ones, m ≥ 1.
        size: how many values the mixture should have. A sample of words has more or fewer mentions than its share, as
            `the` is one of them or not; none of those is taken for an entity.
    """
    above_mixed, above_positive = _above(mixed, positive, size)
    doubt = sqrt(log(4 / CONFIDENCE) / 2) * (len(mixed) ** -0.5 + len(positive) ** -0.5)
    bound = (above_mixed + (1 + MARGIN) * doubt) / above_positive
    best = bound.argmin()
    return min(1.0, (above_mixed[best] / above_positive[best]).item())


def doubtful_share(mixed: Tensor, positive: Tensor, size: float, share: float, price: float) -> float:
    """The share of a mixture above the threshold from which on leaving values out pays.

    Of the values above a threshold t, positive ones are share · P(positive > t). Where as many of them as possible are to be
    found, at a price for each value, t is where share · P(positive > t) − price · P(mixed > t) is highest.

    Args:
        mixed: (n,) scores of the mixture.
        positive: (m,) scores of positive ones, m ≥ 1.
        size: how many values the mixture should have.
        share: of positive ones in the mixture.
        price: of leaving out a value, if not leaving out a positive one costs 1. There are many O words, much alike, and few
            entities.
    """
    above_mixed, above_positive = _above(mixed, positive, size)
    gain = share * above_positive - price * above_mixed
    best = gain.argmax()
    return min(1.0, above_mixed[best].item()) if gain[best] > 0 else 0.0


def _above(mixed: Tensor, positive: Tensor, size: float) -> tuple[Tensor, Tensor]:
    """The shares of a mixture and of positive values at or above every positive value, from the lowest to the highest."""
    thresholds = torch.unique(positive)
    mixed_below, positive_below = (torch.searchsorted(values.sort().values, thresholds) for values in (mixed, positive))
    return (len(mixed) - mixed_below) / size, 1 - positive_below / len(positive)


def type_shares(
    mixed: Tensor, positive: Tensor, classes: Tensor, labels: tuple[str, ...], entities: float
) -> dict[str, float]:
    """The share of the words without a label that are entities of each type; from what a model says of words.

    Args:
        mixed: (n, K) log-probabilities of the classes, O first, for words without a label.
        positive: (m, K) the same for labelled ones.
        classes: (m,) their classes.
        labels: the K − 1 types.
        entities: what the shares add up to.
    """
    types = {
        label: mixture_share(mixed[:, i], positive[classes == i, i], len(mixed)) if bool((classes == i).any()) else 0.0
        for i, label in enumerate(labels, 1)
    }
    total = sum(types.values())  # each is a bound that words of the other types may raise
    return {label: entities * share / total if total else 0.0 for label, share in types.items()}


def shares_of(
    entities: float,
    doubtful: float,
    types: Mapping[str, float],
    counts: Sequence[int],
    by_people: Sequence[int] = (),
) -> Shares:
    """The shares of the words without a label, and those of all words.

    Args:
        entities: of the words without a label, those that are entities.
        doubtful: those that can be told to be.
        types: those of each type.
        counts: the number of words of each label that the dictionary gives, O first.
        by_people: the same in documents that people labelled; all that is known of types that the dictionary lacks.
    """
    words, labelled = sum(counts), sum(counts[1:])
    priors = {}
    for number, label in enumerate(types, 1):
        if counts[number] or not sum(by_people):
            priors[label] = (counts[number] + types[label] * counts[0]) / words
        else:
            priors[label] = by_people[number] / sum(by_people)
    return Shares(entities, doubtful, types, priors, labelled / max(labelled + entities * counts[0], 1))
