"""Relabelling: decide for every word, from predictions of models that were not trained on it, which label to learn.

The predictions come from cross-fitting (`training/cross_fitting.py`). Four steps lead from them to labels:

1. *Pool mentions.* A term is missing from a dictionary everywhere or nowhere. The log-probabilities of a mention are
   mixed with their mean over all mentions of the word.
2. *Transport.* All words are transported to the classes. Each class receives its estimated share of the words, labelled or
   not (`shares.py`). This is eq. DOT with one column for each class, and with an estimate in place of β and of equal
   parts. The models have learnt that unlabelled entities are O, so their predictions contain too few entities; the
   transport corrects that. A row of the plan is the distribution of a word over the classes.
3. *Weigh the label.* Bayes' rule combines a row with the label of the word: a label is right with probability
   `LABEL_TRUST`, and O says little if few entities are labelled.
4. *Decide on whole sentences.* The words of an entity are often held out from different models. Viterbi decoding with the
   transitions of the distant labels (`extensions/viterbi.py`) keeps entities in one piece.

The result may differ from the distant labels in both directions: O words become entities, and labelled words become O or get
another type.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from mproto.extensions.viterbi import most_likely
from mproto.method.prototypes import OTHER
from mproto.method.sinkhorn import sinkhorn

if TYPE_CHECKING:
    from collections.abc import Sequence

POOLED = 0.75
"""Weight of the mean over all mentions of a word."""
LABEL_TRUST = 0.65
"""Probability that a label is right, when it is weighed against the models. It is lower than the precision of most lists,
because lists err in systematic ways: every mention of a name gets the type of its best known bearer. With precise lists,
results hardly change between 0.6 and 0.95; with the labels of a knowledge base, 0.65 is better by several points."""
SMALLEST = 1e-6
"""Smallest probability in decoding, so that no class is impossible."""
MIN_LIKELIHOOD = 0.02
"""Minimum probability that an entity has no label. Otherwise no unlabelled word could be an entity if the estimated share of
a class equals the share that is labelled."""
LONGEST, GROUP = 1000, 100_000
"""Decoding: words in a part of a long document, and words that are decoded together, padding included."""
ITERATIONS = 200
"""Sinkhorn iterations; with this entropy, the plan converges well before."""


class Relabelled(NamedTuple):
    """New labels of N words.

    Attributes:
        probability: (N, K) float64, the probability of each class, given predictions and label.
        labels: (N,) long, the class to learn.
    """

    probability: Tensor
    labels: Tensor


def relabel(
    log_probabilities: Tensor, labels: Tensor, ids: Tensor, shares: Tensor, lengths: Sequence[int], change: Tensor
) -> Relabelled:
    """Return the labels that N words should have.

    Args:
        log_probabilities: (N, K) of the classes, O first, from models that were not trained on the word.
        labels: (N,) long, the distant labels.
        ids: (N,) long, an id for each distinct word.
        shares: (K,) the estimated share of all words that belongs to each class; sums to 1.
        lengths: of the documents, in words; they sum to N.
        change: (K, K) the scores of class pairs, of `transitions`.
    """
    plan = transport_to_classes(pool_mentions(log_probabilities, ids), shares)
    posterior = plan * label_likelihood(labels, shares)[:, labels].T
    posterior = posterior / posterior.sum(-1, keepdim=True)
    return Relabelled(posterior, _decode(posterior.clamp_min(SMALLEST).log(), lengths, change.to(posterior)))


def _decode(log_probabilities: Tensor, lengths: Sequence[int], change: Tensor) -> Tensor:
    """Return the most likely classes (N,) of documents, decoded in groups of similar length."""
    pieces = [
        (start + first, min(LONGEST, length - first))
        for start, length in zip(accumulate(lengths, initial=0), lengths, strict=False)
        for first in range(0, length, LONGEST)
    ]
    pieces.sort(key=lambda piece: -piece[1])
    found = torch.zeros(len(log_probabilities), dtype=torch.long)
    while pieces:
        count = max(1, GROUP // pieces[0][1])
        group, pieces = pieces[:count], pieces[count:]
        places = torch.cat([torch.arange(start, start + length) for start, length in group])
        found[places] = most_likely(log_probabilities[places], [length for _, length in group], change)
    return found


def pool_mentions(log_probabilities: Tensor, ids: Tensor) -> Tensor:
    """Mix the log-probabilities (N, K) of words with their mean over all mentions of the word; (N, K), normalised."""
    counts = torch.bincount(ids).clamp_min(1)
    sums = log_probabilities.new_zeros(len(counts), log_probabilities.shape[1]).index_add_(0, ids, log_probabilities)
    means = sums / counts.unsqueeze(-1)
    return ((1 - POOLED) * log_probabilities + POOLED * means[ids]).log_softmax(-1)


def transport_to_classes(log_probabilities: Tensor, shares: Tensor) -> Tensor:
    """Transport words to classes (eq. DOT); return the plan (N, K), whose rows sum to 1.

    The cost is −log p and the weight of the entropy is 1, so that a row is the prediction times one factor for each class:
    the correction of a classifier for other class shares.

    Args:
        log_probabilities: (N, K).
        shares: (K,) the share of the words that each class receives.
    """
    mass = shares.to(torch.float64) / shares.sum()
    cost = -log_probabilities.to(torch.float64)
    rows = cost.new_ones(len(cost))
    return sinkhorn(cost, rows, mass * len(cost), epsilon=1.0, iterations=ITERATIONS).matrix


def label_likelihood(labels: Tensor, shares: Tensor) -> Tensor:
    """Return (K, K): the probability of each label (columns), given the true class (rows).

    Args:
        labels: (N,) long, the distant labels.
        shares: (K,) the share of all words that belongs to each class.
    """
    classes = len(shares)
    labelled = torch.bincount(labels, minlength=classes).to(torch.float64) / max(len(labels), 1)
    share = shares.to(torch.float64).clamp_min(1e-9)
    wrong = (1 - LABEL_TRUST) * labelled / (1 - share).clamp_min(1e-9)  # of words of any other class
    likelihood = wrong.expand(classes, classes).clone()
    likelihood.diagonal().copy_((LABEL_TRUST * labelled / share).clamp_max(1 - MIN_LIKELIHOOD))
    likelihood[:, OTHER] = 0
    likelihood[:, OTHER] = (1 - likelihood.sum(-1)).clamp_min(MIN_LIKELIHOOD)
    return likelihood
