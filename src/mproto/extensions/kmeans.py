"""Initial prototypes: the cluster centres of the features of each class. The paper starts with random directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import normalize

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.prototypes import PrototypeBank


@torch.no_grad()
def initialise_prototypes(bank: PrototypeBank, features: Tensor, labels: Tensor, generator: torch.Generator) -> None:
    """Set the prototypes of each class to the cluster centres of its words.

    A class without words gets random directions.

    Args:
        bank: the prototypes; changed in place.
        features: (N, d) of the words, on the CPU.
        labels: (N,) long, their classes, on the CPU.
        generator: random generator of the CPU.
    """
    bank.start_at_random(generator)
    for number, size in enumerate(bank.sizes):
        of_class = normalize(features[labels == number].to(bank.vectors.dtype), dim=-1)
        if len(of_class):
            bank.vectors[bank.class_of == number] = spherical_k_means(of_class, size, generator).to(bank.vectors)


def spherical_k_means(points: Tensor, count: int, generator: torch.Generator, iterations: int = 25) -> Tensor:
    """Cluster unit vectors by cosine similarity, starting from k-means++ seeds.

    If there are fewer distinct points than clusters, some centres are near copies of one point.

    Args:
        points: (n, d) unit vectors, n ≥ 1.
        count: number of clusters.
        generator: random generator.
        iterations: maximum number of iterations.

    Returns:
        (count, d) unit vectors, the cluster centres.
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
