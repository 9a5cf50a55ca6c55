"""What the mentions of a word have been like so far, wherever they stood, and those of words that mean alike.

A dictionary lacks a term everywhere or nowhere: whether a word without a label is doubtful is better asked of all its
mentions than of one. Mentions with a label are asked too. A surname that stands alone is not in a list of full names, but
it is labelled wherever the full name is. And where no mention of a word is labelled, those of its kin may be (`kin.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from mproto.method.kin import Kin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

FADING = 0.9
"""What is left of a mention's weight after another one, so that a word's last ten mentions or so are what counts: features
and prototypes move."""
FEWEST_KIN = 0.2
"""The least weight of those kin together that have been seen, for them to be asked."""


class WordMemory:
    """For each of V distinct words, a running mean of its mentions' similarities to the P prototypes.

    Attributes:
        sums: (V, P) of similarities, each with its weight; it grows as words appear.
        weights: (V,) of all mentions of a word; 0 for one without any.
        kin: of the words, where they are known.
        kin_share: how much a word's kin say of it, all together.
    """

    def __init__(self, prototypes: int) -> None:
        self.sums = torch.zeros(0, prototypes)
        self.weights = torch.zeros(0)
        self.kin: Kin | None = None
        self.kin_share = 0.0

    def learn_kin(self, kin: Kin, share: float) -> None:
        """Ask the kin of words too, from now on."""
        self.kin, self.kin_share = kin, share

    def recall(self, words: Tensor, similarity: Tensor) -> Tensor:
        """The means (N, P) of words (N,), by number; of a word without a mention yet, its own similarity (N, P)."""
        self._make_room(words)
        weights = self.weights[words].unsqueeze(-1)
        own = torch.where(weights > 0, self.sums[words] / weights.clamp_min(1e-9), similarity)
        if self.kin is None:
            return own
        self.kin = Kin(*(part.to(words.device) for part in self.kin))
        return self._with_kin(words, own, self.kin)

    def _with_kin(self, words: Tensor, own: Tensor, kin: Kin) -> Tensor:
        """The means (N, P) of words (N,), each mixed with those of its kin, as far as any has been seen."""
        asked = words < len(kin.words)  # kin are known of the first words only
        distinct, place = torch.unique(words[asked], return_inverse=True)
        near = kin.words[distinct]  # (n, k)
        self._make_room(near)
        weights = kin.weights[distinct] * (self.weights[near] > 0)
        total = weights.sum(-1, keepdim=True)
        means = self.sums[near] / self.weights[near].clamp_min(1e-9).unsqueeze(-1)  # (n, k, P)
        said = (weights.unsqueeze(-1) * means).sum(1) / total.clamp_min(1e-9)
        share = self.kin_share * (total >= FEWEST_KIN).to(own.dtype)
        mixed = own.clone()
        mixed[asked] = (1 - share[place]) * own[asked] + share[place] * said[place]
        return mixed

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
        found = {"sums": self.sums, "weights": self.weights}
        if self.kin is not None:
            share = torch.tensor(self.kin_share, dtype=torch.float64)
            found |= {"kin": self.kin.words, "kin_weights": self.kin.weights, "kin_share": share}
        return found

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.sums, self.weights = state["sums"], state["weights"]
        if "kin" in state:
            self.learn_kin(Kin(state["kin"], state["kin_weights"]), state["kin_share"].item())

    def _make_room(self, words: Tensor) -> None:
        """For numbers up to the highest of these; twice as much as there was, so that it is seldom done."""
        self.sums, self.weights = self.sums.to(words.device), self.weights.to(words.device)
        room, needed = len(self.weights), int(words.max()) + 1 if words.numel() else 0
        if needed > room:
            missing = max(needed, 2 * room) - room
            self.sums, self.weights = pad(self.sums, (0, 0, 0, missing)), pad(self.weights, (0, missing))
