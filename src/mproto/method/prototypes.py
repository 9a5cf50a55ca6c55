"""The prototypes: what they are compared with, how they start, and how training moves them.

A prototype is state, not a parameter. It lies in a buffer, no gradient reaches it, and it changes in `update`, which
the training loop calls once a step, and nowhere else: not in a forward pass, not when something is scored or saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from mproto.method.reduction import alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.method.assignment import Assignment
    from mproto.method.reduction import Total

OTHER = 0
"""The number of the class O, which comes first."""


class PrototypeBank(nn.Module):
    """P prototypes of K classes: rows are grouped by class, O first.

    Attributes:
        vectors: (P, d) of length one.
        class_of: (P,) long, the class of each prototype.
    """

    vectors: Tensor
    class_of: Tensor

    def __init__(self, sizes: Sequence[int], dimension: int) -> None:
        """A bank of zeros; `load_state_dict`, `start_at_random` or `start_from` fill it.

        Args:
            sizes: M, the number of prototypes of each class, O first.
            dimension: d, that of the features.
        """
        super().__init__()
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"prototypes per class are {list(sizes)}: at least two classes need at least one each")
        self.register_buffer("class_of", torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)))
        self.register_buffer("vectors", torch.zeros(sum(sizes), dimension))
        self.sizes = tuple(sizes)

    def similarity(self, features: Tensor) -> Tensor:
        """s(h, p), the cosine of every feature (N, d) and every prototype: (N, P)."""
        return normalize(features, dim=-1) @ self.vectors.T

    def class_similarity(self, similarity: Tensor) -> Tensor:
        """The similarity of each word to the nearest prototype of every class: (N, P) to (N, K)."""
        lowest = similarity.new_full((len(similarity), len(self.sizes)), -torch.inf)
        return lowest.scatter_reduce(1, self.class_of.expand_as(similarity), similarity, "amax")

    @torch.no_grad()
    def start_at_random(self, generator: torch.Generator) -> None:
        """Directions drawn evenly, as in the paper."""
        self.vectors.copy_(normalize(torch.randn(self.vectors.shape, generator=generator), dim=-1))

    @torch.no_grad()
    def start_from(self, features: Tensor, labels: Tensor, generator: torch.Generator) -> None:
        """The centres of clusters of the features (N, d) of each class; a class without a word starts at random.

        Features and labels are on the CPU, where the generator is.
        """
        self.start_at_random(generator)
        for number, size in enumerate(self.sizes):
            of_class = normalize(features[labels == number].to(self.vectors.dtype), dim=-1)
            if len(of_class):
                self.vectors[self.class_of == number] = spherical_k_means(of_class, size, generator).to(self.vectors)

    @torch.no_grad()
    def update(
        self,
        features: Tensor,
        assignment: Assignment,
        *,
        alpha: float,
        unit_features: bool = False,
        only: Tensor | None = None,
        total: Total = alone,
    ) -> None:
        """Move each prototype towards the mean of the features assigned to it: p ← α p + (1 − α) mean h, of length one.

        A prototype without a word stays as it is. For the training loop alone.

        Args:
            features: (N, d) h.
            assignment: of the N words; those that are not kept do not count.
            alpha: α, how much of the old prototype stays.
            unit_features: bring the mean to length one before it is mixed in, as the published code does. The paper mixes
                the mean of the features as they are, which weighs as much as they are long.
            only: (N,) bool, words that count; the published code leaves out those that are predicted wrongly.
            total: adds up what several processes have, where the N words are some of those of a step.
        """
        used = assignment.keep if only is None else assignment.keep & only
        targets = assignment.target[used]
        sums = total(torch.zeros_like(self.vectors).index_add_(0, targets, features[used].to(self.vectors.dtype)))
        counts = total(torch.bincount(targets, minlength=len(self.vectors))).unsqueeze(-1)
        means = sums / counts.clamp_min(1)
        if unit_features:
            means = normalize(means, dim=-1)
        moved = normalize(alpha * self.vectors + (1 - alpha) * means, dim=-1)
        self.vectors.copy_(torch.where(counts > 0, moved, self.vectors))


def spherical_k_means(points: Tensor, count: int, generator: torch.Generator, iterations: int = 25) -> Tensor:
    """Centres (count, d) of length one of clusters of unit vectors (n, d), n ≥ 1, by cosine.

    Starts far apart (k-means++). With fewer different points than centres, some centres are near copies of one point.
    """
    centres = points[torch.randint(len(points), (1,), generator=generator)]
    while len(centres) < count:
        distance = (1 - points @ centres.T).clamp_min(0).amin(-1)
        if bool(distance.max() <= 1e-6):
            noise = torch.randn(points.shape[-1], generator=generator) * 0.1 / points.shape[-1] ** 0.5
            further = normalize(points[:1] + noise, dim=-1)
        else:
            further = points[torch.multinomial(distance, 1, generator=generator)]
        centres = torch.cat([centres, further])
    for _ in range(iterations):
        nearest = (points @ centres.T).argmax(-1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, points)
        has_points = torch.bincount(nearest, minlength=count).unsqueeze(-1) > 0
        moved = torch.where(has_points, normalize(sums, dim=-1), centres)
        if bool((moved - centres).abs().max() < 1e-5):
            break
        centres = moved
    return centres
