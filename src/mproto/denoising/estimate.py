"""How many of the words without a label are entities, worked out without human labels.

Some words are kept aside: for a while the model learns nothing of their mentions, labelled or not. To it, a labelled
mention of such a word is what one of a term is that the dictionary lacks: a word of an entity, of which nobody told it. So
where, at some threshold, it takes a share q⁺ of the labelled mentions for entities, it takes about the same share of the
entities among the others for entities, and the share q of all the others that it takes for entities cannot be smaller than
π · q⁺. Hence π ≤ q / q⁺ at every threshold. The least such bound that the numbers of words allow to trust is the estimate:
best bin estimation (Garg et al., *Mixture Proportion Estimation and PU Learning: A Modern Approach*, 2021).

Each type is estimated for itself: a list of persons may have nearly all of them, where that of organisations lacks most, and
then labelled words of both together are not like those without a label.

How many of them are to be left out is asked only of types of which the dictionary lacks most entities. If a share c of the
words that look like entities of a type is labelled, a model that learns from all of them takes such a word for an entity with
probability c (Elkan and Noto, *Learning Classifiers from Only Positive and Unlabeled Data*, 2008). Above ½ it can be asked
itself, and needs no estimate; below, it soon believes that there is nothing to be found.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

CONFIDENCE, MARGIN = 0.1, 0.01
"""δ and γ of the paper on best bin estimation."""
SHARED = 0.75
"""How much all mentions of a word say about each."""
MOST = 0.5
"""The share of entities that are labelled from which on a model can tell the others by itself."""
FEWEST = 20
"""Labelled mentions that an estimate needs."""


UNKNOWN_SHARE = 0.05
"""`Shares.entities` and `Shares.doubtful` where there is nothing to estimate them from."""


@dataclass(frozen=True)
class Shares:
    """How much is unlabelled, as estimated without human labels.

    Attributes:
        entities: the share of the words labelled O that are entities after all.
        doubtful: the share of them that looks enough like entities, of types that are mostly unlabelled, to be left out.
        types: that of each type.
        priors: the share of all words, labelled or not, that are entities of each type.
        coverage: the share of all entity words that are labelled.
    """

    entities: float
    doubtful: float
    types: Mapping[str, float]
    priors: Mapping[str, float]
    coverage: float


def log_odds(answers: Tensor, words: Tensor) -> Tensor:
    """How likely each mention is an entity's of each type, (N, K − 1), as logarithms of odds.

    They are mixed with their mean over all mentions of the word.

    Args:
        answers: (N, K) log-probabilities of the classes, O first.
        words: (N,) long, a number for each word, the same for the same word.
    """
    others = ~torch.eye(answers.shape[1], dtype=torch.bool, device=answers.device)
    rest = torch.stack([torch.logsumexp(answers[:, others[i]], 1) for i in range(1, answers.shape[1])], 1)
    odds = answers[:, 1:] - rest
    sums = odds.new_zeros(int(words.max()) + 1 if len(words) else 0, odds.shape[1])
    means = sums.index_add(0, words, odds) / torch.bincount(words, minlength=len(sums)).clamp_min(1).unsqueeze(-1)
    return (1 - SHARED) * odds + SHARED * means[words]


def mixture_share(mixed: Tensor, positive: Tensor, size: float) -> float:
    """The share of positive values in a mixture, given some positive ones.

    Args:
        mixed: (n,) scores of the mixture; higher for positive ones, more or less.
        positive: (m,) scores of positive ones, m ≥ 1.
        size: how many values the mixture should have. A sample of words has more or fewer mentions than its share, as
            `the` is one of them or not; none of those is taken for an entity.
    """
    _, above_mixed, above_positive = _above(mixed, positive, size)
    doubt = sqrt(log(4 / CONFIDENCE) / 2) * (len(mixed) ** -0.5 + len(positive) ** -0.5)
    bound = (above_mixed + (1 + MARGIN) * doubt) / above_positive
    best = bound.argmin()
    return min(1.0, (above_mixed[best] / above_positive[best]).item())


def doubtful_from(mixed: Tensor, positive: Tensor, size: float, share: float, price: float) -> float:
    """The threshold from which on leaving out values of a mixture pays; infinite, where it never does.

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
    thresholds, above_mixed, above_positive = _above(mixed, positive, size)
    gain = share * above_positive - price * above_mixed
    best = gain.argmax()
    return thresholds[best].item() if gain[best] > 0 else inf


def _above(mixed: Tensor, positive: Tensor, size: float) -> tuple[Tensor, Tensor, Tensor]:
    """Every positive value, the lowest first, and the shares of a mixture and of positive values at or above it."""
    thresholds = torch.unique(positive)
    mixed_below, positive_below = (torch.searchsorted(values.sort().values, thresholds) for values in (mixed, positive))
    return thresholds, (len(mixed) - mixed_below) / size, 1 - positive_below / len(positive)


def type_shares(
    odds: Tensor, classes: Tensor, size: float, price: float, counts: Sequence[int]
) -> tuple[Tensor, float] | None:
    """The shares of the words without a label that are entities of each type, (K − 1,), and that are to be left out.

    A word is to be left out that is, for any type of which most entities are not labelled, above the threshold from which on
    that pays. Types of which few labelled mentions were kept aside are estimated together; if they are still few, they are
    taken to lack as much as the others. Where there are no others either, nothing is known.

    Args:
        odds: (N, K − 1) of the words that were kept aside.
        classes: (N,) long, what they are labelled with; 0 for no label.
        size: how many of them should have no label.
        price: of leaving out a word, as for `doubtful_from`.
        counts: the number of words of each class in all of the training data, O first.
    """
    unlabelled = classes == 0
    aside = torch.bincount(classes, minlength=odds.shape[1] + 1)[1:].double()
    few = (aside > 0) & (aside < FEWEST)
    shares = torch.zeros(odds.shape[1], dtype=torch.float64)
    known, doubtful = torch.zeros_like(few), torch.zeros_like(classes[unlabelled], dtype=torch.bool)
    in_all = torch.tensor(counts[1:], dtype=torch.float64)
    for group in (*torch.eye(len(aside), dtype=torch.bool)[~few], few):
        labelled = aside[group].sum().item()
        if labelled < FEWEST or not len(doubtful):
            continue
        own = odds[:, group].amax(1)
        mixed, positive = own[unlabelled], own[~unlabelled & group[classes - 1]]
        share = mixture_share(mixed, positive, size)
        shares[group] = share * aside[group] / labelled
        if _coverage(in_all[group].sum().item(), share * counts[0]) < MOST:
            doubtful |= mixed >= doubtful_from(mixed, positive, size, share, price)
        known |= group
    if not bool(known.any()):
        return None
    shares[~known] = shares[known].sum() * aside[~known] / aside[known].sum()
    all_to_known = (aside.sum() / aside[known].sum()).item()
    left_out = min(1.0, int(doubtful.sum()) / size * all_to_known)
    return shares / shares.sum().clamp_min(1), left_out  # each is a bound, and together they may be more than all words


def shares_of(
    types: Mapping[str, float], doubtful: float, counts: Sequence[int], by_people: Sequence[int] = ()
) -> Shares:
    """The shares of the words without a label, and those of all words.

    Args:
        types: of the words without a label, those that are entities of each type.
        doubtful: those that can be told to be entities.
        counts: the number of words of each label that the dictionary gives, O first.
        by_people: the same in documents that people labelled; all that is known of types that the dictionary lacks.
    """
    words, labelled, entities = sum(counts), sum(counts[1:]), sum(types.values())
    priors = {}
    for number, label in enumerate(types, 1):
        if counts[number] or not sum(by_people):
            priors[label] = (counts[number] + types[label] * counts[0]) / words
        else:
            priors[label] = by_people[number] / sum(by_people)
    return Shares(entities, doubtful, types, priors, _coverage(labelled, entities * counts[0]))


def _coverage(labelled: float, unlabelled: float) -> float:
    """The share of entity words that are labelled; 0 where there are none."""
    return labelled / max(labelled + unlabelled, 1)
