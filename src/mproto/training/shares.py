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


def estimate_shares(
    mixed: Tensor, hidden: Tensor, classes: Tensor, labels: tuple[str, ...]
) -> tuple[float, dict[str, float]]:
    """The share of the words without a label that are entities, and of each type; from what a model says of words.

    Args:
        mixed: (n, K) log-probabilities of the classes, O first, for words without a label.
        hidden: (m, K) the same for words of hidden terms.
        classes: (m,) the class of each hidden word.
        labels: the K − 1 types.
    """
    entities = mixture_share(-mixed[:, 0], -hidden[:, 0])
    types = {
        label: mixture_share(mixed[:, i], hidden[classes == i, i]) if bool((classes == i).any()) else 0.0
        for i, label in enumerate(labels, 1)
    }
    total = sum(types.values())  # each is a bound that words of the other types may raise
    return entities, {label: entities * share / total if total else 0.0 for label, share in types.items()}


def shares_of(entities: float, types: Mapping[str, float], counts: Sequence[int]) -> Shares:
    """The shares of the words without a label, and with the number of words of each label, O first, those of all words."""
    words, labelled = sum(counts), sum(counts[1:])
    priors = {label: (counts[number] + types[label] * counts[0]) / words for number, label in enumerate(types, 1)}
    return Shares(entities, types, priors, labelled / max(labelled + entities * counts[0], 1))
