"""Words that mean alike: what is known of one says something about the others.

A dictionary has `Germany` and lacks `England`. Where every mention of `England` is learnt as O, the model soon believes it,
however often it is asked again. But `Germany`, `Scotland` and `Portugal`, which are labelled, mean much the same, as anyone
can tell who has read other texts: an encoder before training. The kin of `October` are the other months, and of those none is
labelled. What kin are labelled is known before the first step, and no step makes the model forget it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

COUNT = 20
"""Kin of a word."""
TEMPERATURE = 0.1
"""How much the nearest ones count for more: weights are exp(cosine / temperature)."""
OTHER_CASE = 0.3
"""What is taken off the cosine of `bank` and `Bank`."""
MOST_WORDS = 30_000
"""Words among which kin are looked for, since time grows with the square: the first, among which frequent ones are."""
_ROWS = 1024


class Kin(NamedTuple):
    """The nearest other words of each of V words.

    Attributes:
        words: (V, k) long, their numbers.
        weights: (V, k), which add up to 1.
    """

    words: Tensor
    weights: Tensor


def find_kin(meanings: Tensor, small: Tensor) -> Kin | None:
    """The kin of V words; none, where there is only one word.

    Args:
        meanings: (V, d), in which words that mean alike have a high cosine.
        small: (V,) bool, whether a word is written with a small letter.
    """
    count = min(COUNT, len(meanings) - 1)
    if count < 1:
        return None
    unit = normalize(meanings, dim=-1)
    words, weights = [], []
    for start in range(0, len(unit), _ROWS):
        rows = torch.arange(start, min(start + _ROWS, len(unit)), device=unit.device)
        cosine = unit[rows] @ unit.T - OTHER_CASE * (small[rows].unsqueeze(-1) != small).to(unit.dtype)
        cosine[rows - start, rows] = -torch.inf  # nobody is their own kin
        nearest = cosine.topk(count)
        words.append(nearest.indices)
        weights.append((nearest.values / TEMPERATURE).softmax(-1))
    return Kin(torch.cat(words), torch.cat(weights))


def labelled_kin(kin: Kin, labelled: Tensor) -> Tensor:
    """How much of the kin of V words, (V,), is labelled: what there is to expect of each, before any training.

    Args:
        kin: of V words.
        labelled: (V,) the share of each word's mentions that is labelled.
    """
    return (kin.weights * labelled[kin.words]).sum(-1)


def explained(guess: Tensor, labelled: Tensor) -> float:
    """How much kin explain of which words are labelled: R², from 0 to 1, where each word is guessed to be as its kin are.

    Names of a kind stand in a dictionary or lack there one by one, and their kin are names. Where terms are descriptions, the
    kin of a word in one are often words outside, and say little.

    Args:
        guess: (V,) how much of the kin of each word is labelled.
        labelled: (V,) the share of each word's mentions that is.
    """
    own, others = labelled - labelled.mean(), guess - guess.mean()
    spread = (own.square().sum() * others.square().sum()).sqrt()
    correlation = (own @ others / spread).item() if spread > 0 else 0.0
    return max(correlation, 0.0) ** 2
