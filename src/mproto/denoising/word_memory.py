"""What the mentions of a word have been like so far, wherever they stood.

A dictionary lacks a term everywhere or nowhere: whether a word without a label is doubtful is better asked of all its
mentions than of one. Mentions with a label are asked too. A surname that stands alone is not in a list of full names, but
it is labelled wherever the full name is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

FADING = 0.9
"""What is left of a mention's weight after another one, so that a word's last ten mentions or so are what counts: features
and prototypes move."""


class WordMemory:
    """For each of V distinct words, a running mean of its mentions' similarities to the P prototypes.

    Attributes:
        sums: (V, P) of similarities, each with its weight; it grows as words appear.
        weights: (V,) of all mentions of a word; 0 for one without any.
    """

    def __init__(self, prototypes: int) -> None:
        self.sums = torch.zeros(0, prototypes)
        self.weights = torch.zeros(0)

    def recall(self, words: Tensor, similarity: Tensor) -> Tensor:
        """The means (N, P) of words (N,), by number; of a word without a mention yet, its own similarity (N, P)."""
        self._make_room(words)
        weights = self.weights[words].unsqueeze(-1)
        return torch.where(weights > 0, self.sums[words] / weights.clamp_min(1e-9), similarity)

    def see(self, words: Tensor, similarity: Tensor) -> None:
        """Take in mentions of words (N,), by number, with their similarities (N, P)."""
        self._make_room(words)
        seen, place, counts = torch.unique(words, return_inverse=True, return_counts=True)
        means = similarity.new_zeros(len(seen), similarity.shape[1]).index_add_(0, place, similarity)
        means /= counts.unsqueeze(-1)
        stays = FADING ** counts.to(similarity.dtype)
        self.sums[seen] = self.sums[seen] * stays.unsqueeze(-1) + means * (1 - stays).unsqueeze(-1)
        self.weights[seen] = self.weights[seen] * stays + 1 - stays

    def state(self) -> dict[str, Tensor]:
        return {"sums": self.sums, "weights": self.weights}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.sums, self.weights = state["sums"], state["weights"]

    def _make_room(self, words: Tensor) -> None:
        """For numbers up to the highest of these; twice as much as there was, so that it is seldom done."""
        self.sums, self.weights = self.sums.to(words.device), self.weights.to(words.device)
        room, needed = len(self.weights), int(words.max()) + 1 if words.numel() else 0
        if needed > room:
            missing = max(needed, 2 * room) - room
            self.sums, self.weights = pad(self.sums, (0, 0, 0, missing)), pad(self.weights, (0, missing))
