"""Choosing the classes of a sentence's words together.

Words are compared with prototypes one by one, but entities are runs of words: the hyphen of `5-HT` and the `of` of `loss of
appetite` look like any other, and belong to an entity because of their neighbours. How often each class follows each is
counted in the labels of training. What counts is the ratio P(b | a) / P(b): a dictionary that knows half of the entities lets
them begin half as often as they should, but then they are half as frequent, too. It counts for half: what an encoder makes
of a word depends on the words beside it already (experiments/LOG.md has what other weights give).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.utils.rnn import pad_sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

WEIGHT = 0.5


def transitions(sentences: Iterable[Sequence[int]], classes: int) -> Tensor:
    """(K, K) ½ (log P(b | a) − log P(b)): how much more likely class b is behind class a than anywhere.

    Every pair is taken to have been seen once more than it was.

    Args:
        sentences: the classes of their words.
        classes: K.
    """
    pairs = torch.ones(classes, classes, dtype=torch.float64)
    for sentence in sentences:
        numbers = torch.tensor(sentence, dtype=torch.long)
        pairs.view(-1).index_add_(0, numbers[:-1] * classes + numbers[1:], pairs.new_ones(max(len(sentence) - 1, 0)))
    behind = pairs / pairs.sum(1, keepdim=True)
    return WEIGHT * (behind / (pairs.sum(0) / pairs.sum())).log().float()


def most_likely(answers: Tensor, lengths: Sequence[int], change: Tensor) -> Tensor:
    """The classes (N,) of the words of some sentences that are most likely together (Viterbi).

    Args:
        answers: (N, K) log-probabilities of each word's classes.
        lengths: of the sentences, in words; they add up to N.
        change: (K, K) of `transitions`.
    """
    if not len(answers):
        return answers.new_zeros(0, dtype=torch.long)
    used = [length for length in lengths if length]
    filled = pad_sequence(list(torch.split(answers, used)), batch_first=True)  # (B, T, K)
    best, came_from = filled[:, 0], []
    ends = [best]
    for word in range(1, filled.shape[1]):
        ways = best.unsqueeze(-1) + change  # (B, K before, K)
        best, before = ways.max(1)
        best = best + filled[:, word]
        came_from.append(before)
        ends.append(best)
    sizes = torch.tensor(used, device=answers.device)
    last = torch.stack(ends, 1)[torch.arange(len(used), device=answers.device), sizes - 1].argmax(-1)  # (B,)
    path = last.new_zeros(filled.shape[:2])
    for word in range(filled.shape[1] - 1, -1, -1):
        if word < filled.shape[1] - 1:
            back = came_from[word].gather(1, last.unsqueeze(-1)).squeeze(-1)
            last = torch.where(word < sizes - 1, back, last)
        path[:, word] = last
    inside = torch.arange(filled.shape[1], device=answers.device) < sizes.unsqueeze(-1)
    return path[inside]
