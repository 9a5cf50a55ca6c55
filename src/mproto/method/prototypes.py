"""The prototypes: similarity to words, and the moving average that updates them.

Prototypes are state, not parameters. They are kept in a buffer and receive no gradient. They change only in `update`, which
the training loop calls once per step, and in `restore_length`, which it calls after the last one. No forward pass, evaluation
or saving changes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from mproto.method.reduction import single_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.method.assignment import Assignment
    from mproto.method.reduction import AllReduce

OTHER = 0
"""The number of the class O, which comes first."""


class PrototypeBank(nn.Module):
    """P prototypes of K classes. Rows are grouped by class, O first.

    Args:
        sizes: M, the number of prototypes of each class, O first.
        dimension: d, the size of a feature.
        unit: keep prototypes at unit length, as the published code does. The paper does not normalise them.

    Attributes:
        vectors: (P, d), zeros at first; `start_at_random`, k-means or `load_state_dict` fill them.
        class_of: (P,) long, the class of each prototype.
    """

    vectors: Tensor
    class_of: Tensor

    def __init__(self, sizes: Sequence[int], dimension: int, *, unit: bool = True) -> None:
        super().__init__()
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"prototypes per class are {list(sizes)}: at least two classes need at least one each")
        self.register_buffer("class_of", torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)))
        self.register_buffer("vectors", torch.zeros(sum(sizes), dimension))
        self.sizes, self.unit = tuple(sizes), unit

    def similarity(self, features: Tensor) -> Tensor:
        """Return s(h, p), the cosine similarity of features (N, d) and prototypes: (N, P)."""
        directions = self.vectors if self.unit else normalize(self.vectors, dim=-1)
        return normalize(features, dim=-1) @ directions.T

    def class_similarity(self, similarity: Tensor) -> Tensor:
        """Return the similarity to the nearest prototype of each class: (N, P) to (N, K)."""
        lowest = similarity.new_full((len(similarity), len(self.sizes)), -torch.inf)
        return lowest.scatter_reduce(1, self.class_of.expand_as(similarity), similarity, "amax")

    @torch.no_grad()
    def start_at_random(self, generator: torch.Generator) -> None:
        """Draw random directions of unit length."""
        self.vectors.copy_(normalize(torch.randn(self.vectors.shape, generator=generator), dim=-1))

    @torch.no_grad()
    def restore_length(self) -> None:
        """With `unit`, bring all prototypes to unit length. The mean of several sets of prototypes is shorter."""
        if self.unit:
            self.vectors.copy_(normalize(self.vectors, dim=-1))

    @torch.no_grad()
    def update(
        self,
        features: Tensor,
        assignment: Assignment,
        *,
        alpha: float,
        only: Tensor | None = None,
        all_reduce: AllReduce = single_process,
    ) -> None:
        """Move each prototype towards the mean feature of its words: p ← α p + (1 − α) mean h.

        With `unit`, the mean and the result are brought to unit length. Prototypes without words stay as they are.
        Only the training loop may call this.

        Args:
            features: (N, d) h.
            assignment: of the N words; words that are not kept are ignored.
            alpha: α, the fraction of the old prototype that is kept.
            only: (N,) bool, restricts the update to these words; the published code uses correctly predicted ones.
            all_reduce: sums over all processes of distributed training.
        """
        used = assignment.keep if only is None else assignment.keep & only
        targets = assignment.target[used]
        sums = all_reduce(torch.zeros_like(self.vectors).index_add_(0, targets, features[used].to(self.vectors.dtype)))
        counts = all_reduce(torch.bincount(targets, minlength=len(self.vectors))).unsqueeze(-1)
        means = sums / counts.clamp_min(1)
        if self.unit:
            moved = normalize(alpha * self.vectors + (1 - alpha) * normalize(means, dim=-1), dim=-1)
        else:
            moved = alpha * self.vectors + (1 - alpha) * means
        self.vectors.copy_(torch.where(counts > 0, moved, self.vectors))
