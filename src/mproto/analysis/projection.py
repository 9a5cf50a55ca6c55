"""A map of features: points of many dimensions laid out in two, so that what is near stays near."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import normalize

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.analysis.words import Words

COMPONENTS = 50
"""Dimensions that are left before t-SNE, which does better without the noise of the others."""
FEWEST = 10
"""Different points that t-SNE is used for."""


class Map(NamedTuple):
    """Places of points.

    Attributes:
        places: (n, 2) from 0 to 1.
        method: `t-SNE`, or `PCA` where scikit-learn is not installed.
    """

    places: Tensor
    method: str


def choose(words: Words, most: int, seed: int = 0) -> Tensor:
    """Places of words to show: as many of each class, by people's labels or else by predictions, as far as there are."""
    classes = torch.where(words.gold >= 0, words.gold, words.predicted)
    generator = torch.Generator().manual_seed(seed)
    groups = [torch.nonzero(classes == number).squeeze(-1) for number in classes.unique().tolist()]  # type: ignore[no-untyped-call]
    groups.sort(key=len)
    chosen, left = [], most
    for rank, group in enumerate(groups):
        count = min(len(group), left // (len(groups) - rank))
        chosen.append(group[torch.randperm(len(group), generator=generator)[:count]])
        left -= count
    return torch.cat(chosen).sort().values if chosen else torch.zeros(0, dtype=torch.long)


def project(points: Tensor, seed: int = 0) -> Map:
    """Lay out points (n, d), n ≥ 1, by the angles between them; the same every time on a machine."""
    directions = normalize(points.float(), dim=-1)
    centred = directions - directions.mean(0)
    rank = min(COMPONENTS, *centred.shape)
    _, _, axes = torch.linalg.svd(centred, full_matrices=False)
    flat = centred @ axes[:rank].T
    # The sign of an axis is arbitrary; fix it, so that maps do not turn over.
    flat = flat * torch.where(flat.gather(0, flat.abs().argmax(0, keepdim=True)) < 0, -1.0, 1.0)
    # Fewer different points than t-SNE needs, or none that differ, which it divides by.
    if len(flat.unique(dim=0)) < FEWEST:
        return Map(_fit(flat), "PCA")
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError:
        return Map(_fit(flat), "PCA")
    perplexity = min(30.0, (len(points) - 1) / 3)
    with threadpool_limits(1):  # several threads would add up in any order
        layout = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(flat.numpy())
    return Map(_fit(torch.from_numpy(layout)), "t-SNE")


def _fit(places: Tensor) -> Tensor:
    """The first two dimensions, from 0 to 1."""
    two = torch.nn.functional.pad(places, (0, max(0, 2 - places.shape[1])))[:, :2].float()
    low, high = two.amin(0), two.amax(0)
    return (two - low) / (high - low).clamp_min(1e-9)
