"""Viterbi decoding: predict the classes of the words of a sentence jointly.

Words are compared with prototypes one by one, but entities are runs of words. The hyphen in `5-HT`
and the `of` in `loss of appetite` belong to an entity only because of their neighbours. Transitions
between classes are counted on the training labels. The score is the ratio P(b | a) / P(b) and not
P(b | a): with a dictionary that contains half of the entities, entities start half as often as they
should, but they are also half as frequent. The transition scores get half the weight, because the
features of a word already depend on its neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.utils.rnn import pad_sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

WEIGHT = 0.5
"""Weight of the transition scores."""


def transitions(sentences: Iterable[Sequence[int]], classes: int) -> Tensor:
    """Return the transition scores (K, K): ½ (log P(b | a) − log P(b)).

    They measure how much more likely class b is after class a than overall. Counts are smoothed by
    adding one to each pair.

    Args:
        sentences: the classes of their words.
        classes: K.
    """
    pairs = torch.ones(classes, classes, dtype=torch.float64)
    for sentence in sentences:
        numbers = torch.tensor(sentence, dtype=torch.long)
        pairs.view(-1).index_add_(0, numbers[:-1] * classes + numbers[1:], pairs.new_ones(max(len(sentence) - 1, 0)))
    conditional = pairs / pairs.sum(1, keepdim=True)
    return WEIGHT * (conditional / (pairs.sum(0) / pairs.sum())).log().float()


def most_likely(answers: Tensor, lengths: Sequence[int], change: Tensor) -> Tensor:
    """Return the most likely classes (N,) of the words of some sentences (Viterbi).

    Args:
        answers: (N, K) log-probabilities of each word's classes.
        lengths: of the sentences, in words; they sum to N.
        change: (K, K) of `transitions`.
    """
    if not len(answers):
        return answers.new_zeros(0, dtype=torch.long)
    used = [length for length in lengths if length]
    padded = pad_sequence(list(torch.split(answers, used)), batch_first=True)  # (B, T, K)
    best, came_from = padded[:, 0], []
    ends = [best]
    for word in range(1, padded.shape[1]):
        scores = best.unsqueeze(-1) + change  # (B, K before, K)
        best, before = scores.max(1)
        best = best + padded[:, word]
        came_from.append(before)
        ends.append(best)
    sizes = torch.tensor(used, device=answers.device)
    last = torch.stack(ends, 1)[torch.arange(len(used), device=answers.device), sizes - 1].argmax(-1)  # (B,)
    path = last.new_zeros(padded.shape[:2])
    for word in range(padded.shape[1] - 1, -1, -1):
        if word < padded.shape[1] - 1:
            back = came_from[word].gather(1, last.unsqueeze(-1)).squeeze(-1)
            last = torch.where(word < sizes - 1, back, last)
        path[:, word] = last
    inside = torch.arange(padded.shape[1], device=answers.device) < sizes.unsqueeze(-1)
    return path[inside]
