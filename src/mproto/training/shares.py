"""How many of the words without a label are entities, worked out without human labels.

Some terms are hidden from the model for a while. To it, their mentions are what those of unlisted terms are: words of an
entity, labelled O. So where, at some threshold, it takes a share q⁺ of the hidden words for entities, it takes about the same
share of the unlabelled entity words for entities, and the share q of the O words that it takes for entities cannot be
smaller than π · q⁺. Hence π ≤ q / q⁺ at every threshold. The least such bound that the numbers of words allow to trust is the
estimate: best bin estimation (Garg et al., *Mixture Proportion Estimation and PU Learning: A Modern Approach*, 2021).
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


def mixture_share(mixed: Tensor, positive: Tensor) -> float:
    """The share of positive values in a mixture, given some positive ones.

    Args:
        mixed: (n,) scores of the mixture; higher for positive ones, more or less.
        positive: (m,) scores of positive ones, m ≥ 1.
    """
    thresholds = torch.unique(positive)
    above_mixed = 1 - torch.searchsorted(mixed.sort().values, thresholds) / len(mixed)
    above_positive = 1 - torch.searchsorted(positive.sort().values, thresholds) / len(positive)
    doubt = sqrt(log(4 / CONFIDENCE) / 2) * (len(mixed) ** -0.5 + len(positive) ** -0.5)
    bound = (above_mixed + (1 + MARGIN) * doubt) / above_positive
    best = bound.argmin()
    return min(1.0, (above_mixed[best] / above_positive[best]).item())


def doubtful_share(mixed: Tensor, positive: Tensor, share: float) -> float:
    """The share of a mixture above the threshold from which on more than half are positive.

    Of the values above a threshold t, positive ones are share · P(positive > t). Where as many of them as possible are to be
    found, at a price of one for two values, t is where share · P(positive > t) − P(mixed > t) / 2 is highest.

    Args:
        mixed: (n,) scores of the mixture.
        positive: (m,) scores of positive ones, m ≥ 1.
        share: of positive ones in the mixture.
    """
    thresholds = torch.unique(positive)
    above_mixed, above_positive = (
        1 - torch.searchsorted(values.sort().values, thresholds) / len(values) for values in (mixed, positive)
    )
    gain = share * above_positive - above_mixed / 2
    best = gain.argmax()
    return above_mixed[best].item() if gain[best] > 0 else 0.0


def type_shares(
    mixed: Tensor, hidden: Tensor, classes: Tensor, labels: tuple[str, ...], entities: float
) -> dict[str, float]:
    """The share of the words without a label that are entities of each type; from what a model says of words.

    Args:
        mixed: (n, K) log-probabilities of the classes, O first, for words without a label.
        hidden: (m, K) the same for words of hidden terms.
        classes: (m,) the class of each hidden word.
        labels: the K − 1 types.
        entities: what the shares add up to.
    """
    types = {
        label: mixture_share(mixed[:, i], hidden[classes == i, i]) if bool((classes == i).any()) else 0.0
        for i, label in enumerate(labels, 1)
    }
    total = sum(types.values())  # each is a bound that words of the other types may raise
    return {label: entities * share / total if total else 0.0 for label, share in types.items()}


def shares_of(entities: float, doubtful: float, types: Mapping[str, float], counts: Sequence[int]) -> Shares:
    """The shares of the words without a label, and with the number of words of each label, O first, those of all words."""
    words, labelled = sum(counts), sum(counts[1:])
    priors = {label: (counts[number] + types[label] * counts[0]) / words for number, label in enumerate(types, 1)}
    return Shares(entities, doubtful, types, priors, labelled / max(labelled + entities * counts[0], 1))
