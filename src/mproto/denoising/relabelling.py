"""Relabelling: decide for every word what to learn about it: an entity, O, or nothing.

The evidence comes from models that were not trained on the word (`training/cross_fitting.py`), and from its neighbours. Words
with and without a label are treated differently.

*Words labelled O:*

1. `evidence.py` combines the sources into log-probabilities of the classes.
2. *Transport.* These words are transported to O and to the entities, which receive the estimated share of unlabelled entities
   (`shares.py`). This is eq. DOT with two columns, and with an estimate in place of β. The models have learnt that
   unlabelled entities are O, so they find too few; the transport corrects that. A row of the plan is the distribution of
   a word over O and entities. The type is that of the evidence: the shares of single types are too uncertain.
3. The evidence is combined again, now with these distributions in place of the labels O (one step of expectation
   maximisation), and transported again.

*Labelled words:* the mention, mixed with the mean over all mentions, is transported to all classes. Bayes' rule combines a
row of this plan with the label, which is right with probability `LABEL_TRUST`.

Then Viterbi decoding with the transitions of the distant labels (`extensions/viterbi.py`) finds the most likely classes of
whole sentences, since the words of an entity are often held out from different models. A word labelled O is learnt only if
its probability and the decoding agree, a labelled word only if its label is probable. All others are *left out*: an entity
that is learnt as O costs recall, and the reverse costs precision.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from mproto.denoising.evidence import Stacking, mean_over_mentions
from mproto.extensions.viterbi import most_likely
from mproto.method.prototypes import OTHER
from mproto.method.sinkhorn import sinkhorn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.denoising.shares import EntityShares

SURELY_OTHER, SURELY_ENTITY = 0.2, 0.6
"""A word labelled O is learnt as O if its entity probability is at most the first value, and as an entity if it is at least
the second."""
SURELY_RIGHT = 0.8
"""A labelled word is learnt if its label has at least this probability."""
POOLED = 0.75
"""Weight of the mean over all mentions of a word."""
LABEL_TRUST = 0.65
"""Probability that a label is right, when it is weighed against the models. It is lower than the precision of most lists,
because lists err in systematic ways: every mention of a name gets the type of its best known bearer. With precise lists,
results hardly change between 0.6 and 0.95; with the labels of a knowledge base, 0.65 is better by several points."""
SMALLEST = 1e-6
"""Smallest probability in decoding, so that no class is impossible."""
MIN_LIKELIHOOD = 0.02
"""Minimum probability that an entity has no label, even if as many words of its class are labelled as there should be."""
LONGEST, GROUP = 1000, 100_000
"""Decoding: words in a part of a long document, and words that are decoded together, padding included."""
FITS = 2
"""How often the evidence about words labelled O is combined."""
ITERATIONS = 200
"""Sinkhorn iterations; with this entropy, the plan converges well before."""


class Relabelled(NamedTuple):
    """What to learn about N words.

    Attributes:
        probability: (N, K) float64, the probability of each class, given all evidence and the label.
        labels: (N,) long, the labels that are trusted; elsewhere the most likely classes, for whole documents.
        left_out: (N,) bool, the words about which nothing is learnt.
    """

    probability: Tensor
    labels: Tensor
    left_out: Tensor


def relabel(
    predictions: Tensor,
    neighbours: Tensor,
    labels: Tensor,
    words: Tensor,
    shares: EntityShares,
    lengths: Sequence[int],
    change: Tensor,
) -> Relabelled:
    """Decide what to learn about N words.

    Args:
        predictions: (N, K) log-probabilities of the classes, O first, from models that were not trained on the word.
        neighbours: (N, K) log-probabilities, from the neighbours of each word (`neighbour_evidence`).
        labels: (N,) long, the distant labels.
        words: (N,) long, the id of each word.
        shares: the estimated shares of entities.
        lengths: of the documents, in words; they sum to N.
        change: (K, K) the scores of class pairs, of `transitions`.
    """
    other = labels == OTHER
    probability = _labelled(predictions, labels, words, shares.classes)
    probability[other] = _unlabelled(predictions, neighbours, labels, words, shares.unlabelled)[other]
    decoded = decode(probability.clamp_min(SMALLEST).log(), lengths, change.to(probability))
    entity = 1 - probability[:, OTHER]
    surely = torch.where(decoded == OTHER, entity <= SURELY_OTHER, entity >= SURELY_ENTITY)
    trusted = probability.gather(1, labels.unsqueeze(-1)).squeeze(-1) >= SURELY_RIGHT
    return Relabelled(probability, torch.where(other | ~trusted, decoded, labels), ~torch.where(other, surely, trusted))


def _unlabelled(predictions: Tensor, neighbours: Tensor, labels: Tensor, words: Tensor, share: float) -> Tensor:
    """Return the probabilities (N, K) of the classes as if no word had a label but O."""
    stacking = Stacking([predictions, mean_over_mentions(predictions, words), neighbours], words)
    target = one_hot(labels, predictions.shape[1]).double()
    other = labels == OTHER
    found = torch.zeros_like(target)
    for _ in range(FITS):
        evidence = stacking.fit(target)
        found[other] = transport_to_entities(evidence[other], share)
        target[other] = found[other]
    return found


def _labelled(predictions: Tensor, labels: Tensor, words: Tensor, shares: Tensor) -> Tensor:
    """Return the probabilities (N, K) of the classes, given predictions and label."""
    plan = transport_to_classes(pool_mentions(predictions, words), shares)
    posterior = plan * label_likelihood(labels, shares)[:, labels].T
    return posterior / posterior.sum(-1, keepdim=True)


def decode(log_probabilities: Tensor, lengths: Sequence[int], change: Tensor) -> Tensor:
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
    return ((1 - POOLED) * log_probabilities + POOLED * mean_over_mentions(log_probabilities, ids)).log_softmax(-1)


def transport_to_entities(log_probabilities: Tensor, share: float) -> Tensor:
    """Transport words to O and to all entities together; return the distribution of each word over the classes, (N, K).

    The probability of an entity is divided among the types as in the predictions.

    Args:
        log_probabilities: (N, K).
        share: of the words that are entities.
    """
    entity = log_probabilities[:, 1:].logsumexp(-1)
    both = torch.stack([log_probabilities[:, OTHER], entity], -1)
    plan = transport_to_classes(both, torch.tensor([1 - share, share]))
    types = (log_probabilities[:, 1:] - entity.unsqueeze(-1)).exp()
    return torch.cat([plan[:, :1], plan[:, 1:] * types], -1)


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
