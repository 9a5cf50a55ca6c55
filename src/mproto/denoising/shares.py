"""Estimate which share of the words is entities, labelled or not, without human labels.

The evidence comes from predictions of models that were not trained on the word (`training/cross_fitting.py`). To such a
model, a mention that the dictionary labels is like a mention of a term that the dictionary lacks. So the labelled mentions
are a sample of entities, the unlabelled ones are a mixture, and best bin estimation (`estimate.py`) bounds the share of
entities in the mixture. Two bounds err in opposite directions:

- *all types together*: too low if the dictionary lists the easy terms, which few unlabelled ones resemble;
- *the sum over types*: too high, because every bound is, and because words that resemble two types count twice.

Their geometric mean is the evidence; half of the logarithm of their ratio is its error. The error is larger if the models
hardly tell labelled words from the others: then every bound is loose. The evidence is combined with a prior: in most texts,
entities are one word in eight, give or take a factor of two. With few labelled mentions, or models that have learnt nothing,
there is only the prior, and the share is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import TYPE_CHECKING

import torch

from mproto.denoising.estimate import MIN_LABELLED, mixture_share
from mproto.method.prototypes import OTHER

if TYPE_CHECKING:
    from torch import Tensor

LABEL_PRECISION = 0.85
"""Usual share of labelled words whose label is right."""
ENTITY_WORDS, SPREAD = 0.12, log(2.0)
"""Prior of the share of words that belong to entities: the median, and the standard deviation of its logarithm."""
LEAST_ERROR = 0.35
"""Standard deviation of the logarithm of the evidence, even if both bounds agree."""
MAX_COVERAGE = 0.95
"""A dictionary never lists more of the entities than this."""
MIN_SEPARATION = 0.5
"""Minimum separation of labelled words from the others. A coin has 0, and useful models have 0.8 or more."""
MAX_RATIO = 4.0
"""If the ends of the interval differ by more than this factor, the share is unknown."""
LARGEST = 0.9
"""The largest share that is considered."""
SMALLEST = 1e-6
"""The smallest bound."""
_GRID = 400


@dataclass(frozen=True)
class EntityShares:
    """The estimated shares of entities.

    Attributes:
        unlabelled: of the words labelled O, the share that are entities.
        low: the end of the 80 % interval of `unlabelled`.
        high: its other end.
        classes: (K,) the share of all words that belongs to each class, O first; sums to 1.
        separation: how well the models tell labelled words that they were not trained on from the others: 1 is perfect,
            0 means that they have learnt nothing, or that too few words are labelled.
    """

    unlabelled: float
    low: float
    high: float
    classes: Tensor
    separation: float = 1.0

    @property
    def is_known(self) -> bool:
        """Whether the data say more than the prior."""
        return is_known(self.low, self.high)

    @property
    def has_evidence(self) -> bool:
        """Whether there are enough labels, and models have learnt enough from them, to trust what models say."""
        return self.separation >= MIN_SEPARATION

    def as_tensor(self) -> Tensor:
        """Return all values, for `from_tensor`."""
        numbers = torch.tensor([self.unlabelled, self.low, self.high, self.separation], dtype=torch.float64)
        return torch.cat([numbers, self.classes.double()])

    @classmethod
    def from_tensor(cls, values: Tensor) -> EntityShares:
        """Return the shares that `as_tensor` returned."""
        unlabelled, low, high, separation = values[:4].tolist()
        return cls(unlabelled, low, high, values[4:], separation)


def is_known(low: float, high: float) -> bool:
    """Say whether an interval is narrow enough that the data say more than the prior."""
    return high <= MAX_RATIO * low


def estimate_shares(log_probabilities: Tensor, labels: Tensor) -> EntityShares:
    """Estimate the share of entities among N words.

    Args:
        log_probabilities: (N, K) of the classes, O first, from models that were not trained on the word.
        labels: (N,) long, the distant labels.
    """
    counts = torch.bincount(labels, minlength=log_probabilities.shape[1]).to(torch.float64)
    labelled = (1 - counts[OTHER] / counts.sum().clamp_min(1)).item()
    bounds = _bounds(log_probabilities, labels, counts)
    if bounds is None:
        weights, evidence, separation = counts[1:], None, 0.0
    else:
        together, by_type = bounds
        weights, separation = by_type, _separation(log_probabilities, labels)
        error = sqrt(_squared_error(together, by_type.sum().item()) + 1 / counts[1:].sum().item())
        evidence = (log(sqrt(together * by_type.sum().item())), error / max(separation, 1e-3))
    low, unlabelled, high = _quantiles(labelled, evidence)
    unlabelled_types = unlabelled * weights / weights.sum().clamp_min(1e-9)
    types = LABEL_PRECISION * counts[1:] / counts.sum().clamp_min(1) + unlabelled_types * (1 - labelled)
    classes = torch.cat([(1 - types.sum()).clamp_min(0.0).unsqueeze(0), types])
    return EntityShares(unlabelled, low, high, classes / classes.sum(), separation)


def _bounds(log_probabilities: Tensor, labels: Tensor, counts: Tensor) -> tuple[float, Tensor] | None:
    """Return the bound for all types together, and (K − 1,) those of the types; None with too few labelled words."""
    other = labels == OTHER
    if counts[1:].sum() < MIN_LABELLED or not bool(other.any()):
        return None
    unlabelled = int(other.sum())
    entity = -_log_odds(log_probabilities, OTHER)
    together = max(mixture_share(entity[other], entity[~other], unlabelled), SMALLEST)
    bounds = torch.zeros(len(counts) - 1, dtype=torch.float64)
    known = counts[1:] >= MIN_LABELLED
    for number in (known.nonzero().flatten() + 1).tolist():
        odds = _log_odds(log_probabilities, number)
        bounds[number - 1] = mixture_share(odds[other], odds[labels == number], unlabelled)
    if not bool(known.any()):
        return together, together * counts[1:] / counts[1:].sum()
    # Rare types are assumed to be as incomplete as the others.
    bounds[~known] = bounds[known].sum() * counts[1:][~known] / counts[1:][known].sum()
    return together, bounds.clamp_min(SMALLEST)


def _log_odds(log_probabilities: Tensor, number: int) -> Tensor:
    """Return the log odds (N,) of one class against all others."""
    others = torch.arange(log_probabilities.shape[1], device=log_probabilities.device) != number
    return log_probabilities[:, number] - log_probabilities[:, others].logsumexp(-1)


def _squared_error(one: float, other: float) -> float:
    return LEAST_ERROR**2 + (log(one / other) / 2) ** 2


def _separation(log_probabilities: Tensor, labels: Tensor) -> float:
    """Return how well the models tell labelled words from the others: the Gini coefficient, 2 · AUC − 1, at least 0."""
    entity, other = -_log_odds(log_probabilities, OTHER), labels == OTHER
    ordered = entity[other].sort().values
    places = [torch.searchsorted(ordered, entity[~other], right=right) for right in (False, True)]  # ties count half
    auc = torch.stack(places).double().mean().item() / len(ordered)
    return max(2 * auc - 1, 0.0)


def _quantiles(labelled: float, evidence: tuple[float, float] | None) -> tuple[float, float, float]:
    """Return the quantiles 0.1, 0.5 and 0.9 of the share of entities among the unlabelled words.

    Args:
        labelled: share of all words that are labelled.
        evidence: mean and standard deviation of the logarithm of the share, if there is any.
    """
    least = LABEL_PRECISION * labelled * (1 / MAX_COVERAGE - 1) / max(1 - labelled, 1e-9)
    least = min(max(least, 1e-4), LARGEST / 2)
    share = torch.logspace(log(least), log(LARGEST), _GRID, base=exp(1), dtype=torch.float64)
    entities = LABEL_PRECISION * labelled + share * (1 - labelled)
    density = -0.5 * ((entities.log() - log(ENTITY_WORDS)) / SPREAD) ** 2
    if evidence:
        density = density - 0.5 * ((share.log() - evidence[0]) / evidence[1]) ** 2
    cumulative = density.softmax(0).cumsum(0)
    places = torch.searchsorted(cumulative, torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64))
    low, median, high = share[places.clamp_max(_GRID - 1)].tolist()
    return low, median, high
