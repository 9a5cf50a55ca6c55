"""Combine what is known about a word, apart from its own label, into a probability for each class.

There are three sources, and none of them was trained on the label of the word:

- *the mention*: the prediction of a model that was not trained on the word (`training/cross_fitting.py`);
- *all mentions*: the mean of these predictions over all mentions of the word. A term is missing from a dictionary everywhere
  or nowhere, so its mentions are better judged together;
- *the neighbours*: the labels of the words with the most similar embeddings (`neighbours.py`).

How much a source is worth differs between corpora. Names have neighbours that are names; the words of descriptions do not. So
a logistic regression learns it from the labels: one weight for each source, and one constant for each class. This is
stacking (Wolpert, *Stacked Generalization*, 1992). The weights are few, so they cannot learn single words by heart.

A distinct word counts with the square root of its number of mentions, so that a few frequent words do not decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from mproto.denoising.neighbours import labelled_share

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.denoising.neighbours import Neighbours

SMOOTHING = 0.002
"""Added to the share of each class among the neighbours, so that no class is impossible."""
PENALTY = 1e-3
"""Weight of the squared weights of the sources in the loss."""
MOST_WORDS = 300_000
"""Maximum number of words that the regression is fitted on, evenly drawn."""
ITERATIONS = 60


def neighbour_evidence(neighbours: Neighbours | None, words: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Return the logarithm of the share of each class among the neighbours of N words: (N, K).

    Words without neighbours have the shares of the classes among all words.

    Args:
        neighbours: of the first V distinct words; None if there are none.
        words: (N,) long, the ids of the words.
        labels: (N,) long, the distant labels.
        classes: K.
    """
    known = 0 if neighbours is None else len(neighbours.words)
    counts = torch.zeros(max(int(words.max()) + 1 if len(words) else 0, known), classes)
    counts.index_put_((words, labels), torch.ones(len(words)), accumulate=True)
    of_word = counts / counts.sum(-1, keepdim=True).clamp_min(1)
    overall = counts.sum(0) / max(len(words), 1)
    found = overall.repeat(len(counts), 1)
    if neighbours is not None:
        columns = [labelled_share(neighbours, of_word[:, column]) for column in range(classes)]
        found[:known] = torch.stack(columns, -1)
    return (found + SMOOTHING).log().log_softmax(-1)[words]


def mean_over_mentions(log_probabilities: Tensor, words: Tensor) -> Tensor:
    """Return for each of N mentions the mean log-probabilities (N, K) over all mentions of its word."""
    counts = torch.bincount(words).clamp_min(1)
    sums = log_probabilities.new_zeros(len(counts), log_probabilities.shape[1]).index_add_(0, words, log_probabilities)
    return (sums / counts.unsqueeze(-1))[words]


class Stacking:
    """A logistic regression of the class of a word on several sources of evidence.

    Args:
        sources: (N, K) log-probabilities of each source, O first.
        words: (N,) long, the ids of the words.
    """

    def __init__(self, sources: list[Tensor], words: Tensor) -> None:
        odds = [source[:, 1:] - source[:, :1] for source in sources]  # against O
        self._odds = torch.stack(odds).to(torch.float64)
        self._importance = torch.bincount(words)[words].double().rsqrt()  # the mentions of a word sum to √n

    def fit(self, target: Tensor) -> Tensor:
        """Fit the regression, and return the log-probabilities (N, K) that it predicts.

        Args:
            target: (N, K) the probability of each class, as far as it is known.
        """
        every = -(-target.shape[0] // MOST_WORDS) or 1
        odds, wanted = self._odds[:, ::every], target[::every].to(torch.float64)
        importance = self._importance[::every] / self._importance[::every].sum().clamp_min(1e-9)
        count = len(odds)
        weights = torch.full((count,), 1 / count, dtype=torch.float64, requires_grad=True)
        constants = torch.zeros(odds.shape[-1], dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.LBFGS([weights, constants], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

        def loss() -> float:
            optimiser.zero_grad()
            entropy = -(wanted * _log_probabilities(odds, weights, constants)).sum(-1)
            total = (importance * entropy).sum() + PENALTY * weights.square().sum()
            total.backward()  # type: ignore[no-untyped-call]
            return total.item()

        optimiser.step(loss)  # type: ignore[no-untyped-call]
        return _log_probabilities(self._odds, weights.detach(), constants.detach())


def _log_probabilities(odds: Tensor, weights: Tensor, constants: Tensor) -> Tensor:
    """Return (N, K) log-probabilities, given the odds against O (S, N, K − 1)."""
    combined = torch.tensordot(weights, odds, dims=1) + constants
    return pad(combined, (1, 0)).log_softmax(-1)  # the odds of O against itself are 0
