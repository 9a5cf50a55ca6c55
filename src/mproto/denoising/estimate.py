"""Estimate how many of the words without a label are entities, without human labels.

During a hold-out phase, all mentions of some words, labelled or not, are left out of training. To
the model, a labelled mention of a held-out word is like a mention of a term that is missing from
the dictionary: an entity word that it was not trained on. If the model scores a share q⁺ of the
labelled held-out mentions above some threshold, it scores about the same share of the unlabelled
entities above it. The share q of all unlabelled mentions above the threshold is then at least
π · q⁺, where π is the share of entities among them. Hence π ≤ q / q⁺ for every threshold. The
estimate is the smallest of these bounds, corrected for the size of the sample: best bin estimation
(Garg et al., *Mixture Proportion Estimation and PU Learning: A Modern Approach*, 2021).

Each type is estimated separately. A dictionary may list nearly all persons and lack most organisations; the labelled words
of both together are then not a sample of the unlabelled ones.

The share of words to leave out is estimated only for types with a coverage below ½. If a share c of the words that look
like entities of a type is labelled, a model trained on all of them predicts an entity with probability c for such a word
(Elkan and Noto, *Learning Classifiers from Only Positive and Unlabeled Data*, 2008). Above ½ the model finds unlabelled
entities without help; below ½ it soon predicts O for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING

import torch

from mproto.denoising.word_memory import MEMORY_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

CONFIDENCE, MARGIN = 0.1, 0.01
"""δ and γ of best bin estimation."""
MAX_COVERAGE = 0.5
"""At this coverage or above, a model finds the unlabelled entities of a type without help."""
MIN_LABELLED = 20
"""Minimum number of labelled mentions for an estimate."""
COST_RATIO = 0.15
"""The cost of leaving out an O word, relative to that of learning an entity as O. O words are many and
similar to each other; entities are few."""
DEFAULT_SHARE = 0.05
"""Assumed share of unlabelled entities if there are too few labelled mentions for an estimate."""


@dataclass(frozen=True)
class UnlabelledEstimate:
    """The estimated shares of unlabelled entities.

    Attributes:
        share: of the words labelled O, the share that are entities.
        left_out: of the words labelled O, the share to leave out: those that look like entities of types with low coverage.
        types: of the words labelled O, the share that are entities of each type.
        priors: of all words, labelled or not, the share that are entities of each type.
        coverage: of all entity words, the share that is labelled.
    """

    share: float
    left_out: float
    types: Mapping[str, float]
    priors: Mapping[str, float]
    coverage: float

    @classmethod
    def of(
        cls, types: Mapping[str, float], left_out: float, counts: Sequence[int], human: Sequence[int] = ()
    ) -> UnlabelledEstimate:
        """Complete an estimate: compute the priors and the coverage from the numbers of labels.

        Args:
            types: of the words labelled O, the share that are entities of each type.
            left_out: of the words labelled O, the share to leave out.
            counts: number of words of each class in documents labelled by the dictionary, O first.
            human: the same in documents labelled by humans. They give the priors of types without dictionary labels.
        """
        words, labelled, share = sum(counts), sum(counts[1:]), sum(types.values())
        priors = {}
        for number, label in enumerate(types, 1):
            if counts[number] or not sum(human):
                priors[label] = (counts[number] + types[label] * counts[0]) / words
            else:
                priors[label] = human[number] / sum(human)
        return cls(share, left_out, types, priors, _coverage(labelled, share * counts[0]))


def log_odds(log_probabilities: Tensor, ids: Tensor) -> Tensor:
    """Return the log odds of each type for N mentions, (N, K − 1), mixed with their mean over all mentions of the word.

    Args:
        log_probabilities: (N, K) of the classes, O first.
        ids: (N,) long, an id for each distinct word.
    """
    classes = log_probabilities.shape[1]
    others = ~torch.eye(classes, dtype=torch.bool, device=ids.device)
    rest = torch.stack([torch.logsumexp(log_probabilities[:, others[i]], 1) for i in range(1, classes)], 1)
    odds = log_probabilities[:, 1:] - rest
    sums = odds.new_zeros(int(ids.max()) + 1 if len(ids) else 0, odds.shape[1])
    means = sums.index_add(0, ids, odds) / torch.bincount(ids, minlength=len(sums)).clamp_min(1).unsqueeze(-1)
    return (1 - MEMORY_SHARE) * odds + MEMORY_SHARE * means[ids]


def mixture_share(mixed: Tensor, positive: Tensor, size: float) -> float:
    """Estimate the share of positives in a mixture, given a sample of positives.

    Args:
        mixed: (n,) scores of the mixture; positives tend to score higher.
        positive: (m,) scores of positives, m ≥ 1.
        size: expected size of the mixture. A sample of words has more or fewer mentions than expected,
            depending on whether it contains a word like `the`; such words do not look like entities.
    """
    _, above_mixed, above_positive = _shares_above(mixed, positive, size)
    slack = sqrt(log(4 / CONFIDENCE) / 2) * (len(mixed) ** -0.5 + len(positive) ** -0.5)
    bound = (above_mixed + (1 + MARGIN) * slack) / above_positive
    best = bound.argmin()
    return min(1.0, (above_mixed[best] / above_positive[best]).item())


def best_threshold(mixed: Tensor, positive: Tensor, size: float, share: float, cost_ratio: float = COST_RATIO) -> float:
    """Return the lowest score at which leaving out values of a mixture pays; infinite if it never does.

    Above a threshold t there is a share · P(positive > t) of positives. The best t maximises
    share · P(positive > t) − cost_ratio · P(mixed > t).

    Args:
        mixed: (n,) scores of the mixture.
        positive: (m,) scores of positives, m ≥ 1.
        size: expected size of the mixture.
        share: the share of positives in the mixture.
        cost_ratio: cost of leaving out a value, relative to that of keeping a positive.
    """
    thresholds, above_mixed, above_positive = _shares_above(mixed, positive, size)
    gain = share * above_positive - cost_ratio * above_mixed
    best = gain.argmax()
    return thresholds[best].item() if gain[best] > 0 else inf


def _shares_above(mixed: Tensor, positive: Tensor, size: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct positive scores, ascending, and the shares of mixture and positives at or above each."""
    thresholds = torch.unique(positive)
    mixed_below, positive_below = (torch.searchsorted(values.sort().values, thresholds) for values in (mixed, positive))
    return thresholds, (len(mixed) - mixed_below) / size, 1 - positive_below / len(positive)


def type_shares(odds: Tensor, classes: Tensor, size: float, counts: Sequence[int]) -> tuple[Tensor, float] | None:
    """Estimate the share of entities of each type among the words without a label, and the share to leave out.

    A word is left out if its odds of a type with low coverage exceed the best threshold of that type. Types with few
    labelled held-out mentions are estimated together. If these are still too few, they are assumed to be as incomplete as
    the other types.

    Args:
        odds: (N, K − 1) of the held-out mentions.
        classes: (N,) long, their labels; 0 for no label.
        size: expected number of held-out mentions without a label.
        counts: number of words of each class in all training data, O first.

    Returns:
        (K − 1,) the shares of the types, and the share to leave out; None if there are too few labelled mentions.
    """
    unlabelled = classes == 0
    held_out = torch.bincount(classes, minlength=odds.shape[1] + 1)[1:].double()
    few = (held_out > 0) & (held_out < MIN_LABELLED)
    shares = torch.zeros(odds.shape[1], dtype=torch.float64)
    known, left_out = torch.zeros_like(few), torch.zeros_like(classes[unlabelled], dtype=torch.bool)
    in_all = torch.tensor(counts[1:], dtype=torch.float64)
    for group in (*torch.eye(len(held_out), dtype=torch.bool)[~few], few):
        labelled = held_out[group].sum().item()
        if labelled < MIN_LABELLED or not len(left_out):
            continue
        scores = odds[:, group].amax(1)
        mixed, positive = scores[unlabelled], scores[~unlabelled & group[classes - 1]]
        share = mixture_share(mixed, positive, size)
        shares[group] = share * held_out[group] / labelled
        if _coverage(in_all[group].sum().item(), share * counts[0]) < MAX_COVERAGE:
            left_out |= mixed >= best_threshold(mixed, positive, size, share)
        known |= group
    if not bool(known.any()):
        return None
    shares[~known] = shares[known].sum() * held_out[~known] / held_out[known].sum()
    all_to_known = (held_out.sum() / held_out[known].sum()).item()
    total_left_out = min(1.0, int(left_out.sum()) / size * all_to_known)
    return shares / shares.sum().clamp_min(1), total_left_out  # upper bounds may sum to more than 1


def _coverage(labelled: float, unlabelled: float) -> float:
    """Return the share of entity words that is labelled; 0 if there are none."""
    return labelled / max(labelled + unlabelled, 1)
