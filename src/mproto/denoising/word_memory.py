"""The word memory: a running mean of the similarities of all mentions of a word.

A term is missing from a dictionary everywhere or nowhere, so whether a word is an unlabelled entity is better judged by
all of its mentions than by one. Labelled mentions count too: a surname on its own may not be listed, but it is labelled
wherever it is part of a listed full name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

DECAY = 0.9
"""Each new mention multiplies the weight of older ones by this. About the last ten mentions count,
because features and prototypes change during training."""
MEMORY_SHARE = 0.75
"""Weight of the mean of all mentions; the current mention has the rest."""


class WordMemory:
    """A running mean of similarities to P prototypes for each of V distinct words.

    Attributes:
        sums: (V, P) weighted sums of similarities; grows as words appear.
        weights: (V,) sums of the weights; 0 for words without a mention.
    """

    def __init__(self) -> None:
        self.sums = torch.zeros(0, 0)
        self.weights = torch.zeros(0)

    def mean(self, ids: Tensor, similarity: Tensor) -> Tensor:
        """Return the means (N, P) for words (N,); for a word without a mention, its own similarity (N, P)."""
        size = len(self.weights)
        known = ids < size
        row = ids.clamp_max(max(size - 1, 0))
        if not size:
            return similarity
        sums, weights = self.sums.to(ids.device), self.weights.to(ids.device)
        seen = torch.where(known, weights[row], 0.0).unsqueeze(-1)
        return torch.where(seen > 0, sums[row] / seen.clamp_min(1e-9), similarity)

    def add(self, ids: Tensor, similarity: Tensor) -> None:
        """Add mentions of words (N,) with their similarities (N, P)."""
        if not len(ids):
            return
        self._grow(int(ids.max()) + 1, similarity.shape[1], ids.device)
        seen, place, counts = torch.unique(ids, return_inverse=True, return_counts=True)
        means = similarity.new_zeros(len(seen), similarity.shape[1]).index_add_(0, place, similarity)
        means /= counts.unsqueeze(-1)
        kept = DECAY ** counts.to(similarity.dtype)
        self.sums[seen] = self.sums[seen] * kept.unsqueeze(-1) + means * (1 - kept).unsqueeze(-1)
        self.weights[seen] = self.weights[seen] * kept + 1 - kept

    def state(self) -> dict[str, Tensor]:
        return {"sums": self.sums, "weights": self.weights}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.sums, self.weights = state["sums"], state["weights"]

    def _grow(self, words: int, prototypes: int, device: torch.device) -> None:
        """Grow to this number of words, but at least to twice the size, so that growing is rare."""
        self.sums, self.weights = self.sums.to(device), self.weights.to(device)
        size = len(self.weights)
        if words > size:
            missing = max(words, 2 * size) - size
            columns = prototypes - self.sums.shape[1]
            self.sums, self.weights = pad(self.sums, (0, columns, 0, missing)), pad(self.weights, (0, missing))
