"""Which words labelled O are too doubtful to learn from: denoised transport with two columns, O and the rest.

Eq. DOT says how much every prototype takes, and so how many unlabelled words are of each type; nobody knows that. What can
be estimated is β alone. If the sum of the O columns is all that is fixed, the plan without entropy needs no solver: of n
words, those (1 − β) n go to the rest that gain most by it, which is a threshold. It is the same for all steps but for what
training changes, so that a step with many unlabelled entities leaves out more of them than one with few. And since β may be
estimated too high, what is more likely an entity than not is left out in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.method.losses import class_logits
from mproto.method.prototypes import OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

FADING = 0.95
"""How much of the threshold stays from one step to the next."""
EARLY = 0.1
"""The doubt by kin alone beyond which words are left out before the model has learnt enough to be asked."""
EVEN = 0.5
"""The highest threshold: what is more likely an entity than not is left out in any case, however few are said to be."""


def entity_probability(similarity: Tensor, class_of: Tensor, temperature: float) -> Tensor:
    """How likely each word (N,) is an entity's, by its similarities (N, P) to prototypes of classes (P,)."""
    return 1 - class_logits(similarity, class_of, temperature).softmax(-1)[:, OTHER]


def threshold(doubt: Tensor, beta: float, last: Tensor | None = None) -> Tensor | None:
    """The doubt beyond which words are left out: that of a share β of the words of this step and of the steps before.

    Args:
        doubt: (n,) of the words of this step.
        beta: β.
        last: the threshold of the step before, if there was one; float64, as what is returned. There is none as long as there
            has been no word.
    """
    if not len(doubt):
        return last
    own = torch.quantile(doubt.double(), beta)
    return own if last is None else FADING * last.to(own.device) + (1 - FADING) * own


def too_doubtful(doubt: Tensor, bar: Tensor | None) -> Tensor:
    """Which words, (n,) bool, are left out, by their doubt (n,) and the threshold."""
    return doubt > (EVEN if bar is None else bar.to(doubt.device).clamp_max(EVEN))


class LabelledKin:
    """What is expected of words because of the words that mean alike (`kin.py`).

    Attributes:
        expected: (V,) how much of the kin of each word is labelled; of words beyond, nothing is known.
        share: how much that says of a word, from 0 to 1.
    """

    def __init__(self) -> None:
        self.expected = torch.zeros(0)
        self.share = 0.0

    def learn(self, expected: Tensor, share: float) -> None:
        self.expected, self.share = expected, share

    def mixed_into(self, doubt: Tensor, words: Tensor) -> Tensor:
        """The doubt (n,) of words (n,), by number, with what is expected of them as a part of it."""
        self.expected = self.expected.to(device=doubt.device, dtype=doubt.dtype)
        known = words < len(self.expected)
        mixed = doubt.clone()
        mixed[known] = (1 - self.share) * doubt[known] + self.share * self.expected[words[known]]
        return mixed

    def alone(self, words: Tensor) -> Tensor:
        """The doubt of words (n,) that there is before anything is learnt of them, (n,)."""
        return self.mixed_into(torch.zeros(words.shape, device=words.device), words)

    def state(self) -> dict[str, Tensor]:
        return {"expected": self.expected, "share": torch.tensor(self.share, dtype=torch.float64)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.learn(state["expected"], state["share"].item())
