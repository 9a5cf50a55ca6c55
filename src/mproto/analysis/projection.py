"""A map of features: a projection to two dimensions that keeps similar words close."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import normalize

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.analysis.word_table import WordTable

COMPONENTS = 50
"""The number of principal components passed to t-SNE. The others are mostly noise."""
FEWEST = 10
"""With fewer distinct points, PCA is used."""


class Projection(NamedTuple):
    """Points in two dimensions.

    Attributes:
        places: (n, 2) coordinates from 0 to 1.
        method: `t-SNE`, or `PCA` if there are few distinct points or scikit-learn is not installed.
    """

    places: Tensor
    method: str


def choose_words(words: WordTable, most: int, seed: int = 0) -> Tensor:
    """Return the indices (n,) of a random sample of words, balanced by class if possible.

    The class of a word is its human label, or the predicted class if there is none.
    """
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


def project(points: Tensor, seed: int = 0) -> Projection:
    """Project points (n, d), n ≥ 1, by the angles between them.

    On one machine, the result is always the same.
    """
    directions = normalize(points.float(), dim=-1)
    centred = directions - directions.mean(0)
    rank = min(COMPONENTS, *centred.shape)
    _, _, axes = torch.linalg.svd(centred, full_matrices=False)
    flat = centred @ axes[:rank].T
    # The sign of an axis is arbitrary; fix it, so that maps are not mirrored.
    flat = flat * torch.where(flat.gather(0, flat.abs().argmax(0, keepdim=True)) < 0, -1.0, 1.0)
    # t-SNE needs more than a few points, and divides by the distances between them.
    if len(flat.unique(dim=0)) < FEWEST:
        return Projection(_fit(flat), "PCA")
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError:
        return Projection(_fit(flat), "PCA")
    perplexity = min(30.0, (len(points) - 1) / 3)
    with threadpool_limits(1):  # with several threads, the order of sums is not deterministic
        layout = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(flat.numpy())
    return Projection(_fit(torch.from_numpy(layout)), "t-SNE")


def _fit(places: Tensor) -> Tensor:
    """Return the first two dimensions, scaled to 0 to 1."""
    two = torch.nn.functional.pad(places, (0, max(0, 2 - places.shape[1])))[:, :2].float()
    low, high = two.amin(0), two.amax(0)
    return (two - low) / (high - low).clamp_min(1e-9)
