"""The neighbour prior: predict from words with similar embeddings whether a word is an entity.

A dictionary contains `Germany` and lacks `England`. If every mention of `England` is learnt as O,
the model soon predicts O for it. But before training, its embedding is similar to those of
`Germany`, `Scotland` and `Portugal`, which are labelled. The neighbours of `October` are the other
months, none of which is labelled. This evidence is available before the first step, and training
cannot overwrite it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNT = 20
"""Number of neighbours of a word."""
TEMPERATURE = 0.1
"""Neighbours are weighted by exp(cosine / temperature)."""
CASE_PENALTY = 0.3
"""Subtracted from the cosine if only one of the two words is capitalised (`bank`, `Bank`)."""
MAX_WORDS = 30_000
"""Maximum number of words; the first ones of the training text are used, which include the frequent
ones. Time grows with the square of this number."""
_ROWS = 1024


class Neighbours(NamedTuple):
    """The nearest neighbours of each of V words.

    Attributes:
        words: (V, k) long, the ids of the neighbours.
        weights: (V, k), which sum to 1.
    """

    words: Tensor
    weights: Tensor


def nearest_neighbours(embeddings: Tensor, lowercase: Tensor) -> Neighbours | None:
    """Return the nearest neighbours of V words; None if there is only one word.

    Args:
        embeddings: (V, d) word embeddings, compared by cosine.
        lowercase: (V,) bool, whether a word starts with a lower-case letter.
    """
    count = min(COUNT, len(embeddings) - 1)
    if count < 1:
        return None
    unit = normalize(embeddings, dim=-1)
    words, weights = [], []
    for start in range(0, len(unit), _ROWS):
        rows = torch.arange(start, min(start + _ROWS, len(unit)), device=unit.device)
        other_case = (lowercase[rows].unsqueeze(-1) != lowercase).to(unit.dtype)
        cosine = unit[rows] @ unit.T - CASE_PENALTY * other_case
        cosine[rows - start, rows] = -torch.inf  # a word is not its own neighbour
        nearest = cosine.topk(count)
        words.append(nearest.indices)
        weights.append((nearest.values / TEMPERATURE).softmax(-1))
    return Neighbours(torch.cat(words), torch.cat(weights))


def labelled_share(neighbours: Neighbours, labelled: Tensor) -> Tensor:
    """Return (V,) the weighted share of each word's neighbours that is labelled.

    Args:
        neighbours: of V words.
        labelled: (V,) the share of each word's mentions that is labelled.
    """
    return (neighbours.weights * labelled[neighbours.words]).sum(-1)


def explained_variance(prediction: Tensor, labelled: Tensor) -> float:
    """Return R², from 0 to 1: how well the neighbours of a word predict whether it is labelled.

    It is high if terms are names: each is listed or missing on its own, and its neighbours are names,
    too. It is low if terms are descriptions: their words often have neighbours outside of any term.

    Args:
        prediction: (V,) the share of each word's neighbours that is labelled.
        labelled: (V,) the share of each word's mentions that is labelled.
    """
    actual, predicted = labelled - labelled.mean(), prediction - prediction.mean()
    spread = (actual.square().sum() * predicted.square().sum()).sqrt()
    correlation = (actual @ predicted / spread).item() if spread > 0 else 0.0
    return max(correlation, 0.0) ** 2


class NeighbourPrior:
    """The entity probability of each word, predicted from its neighbours.

    Attributes:
        prediction: (V,) for each word id; words with other ids have no prior.
        weight: the weight of the prior in the entity probability, from 0 to 1.
    """

    def __init__(self) -> None:
        self.prediction = torch.zeros(0)
        self.weight = 0.0

    def learn(self, prediction: Tensor, weight: float) -> None:
        self.prediction, self.weight = prediction, weight

    def mix(self, probability: Tensor, ids: Tensor) -> Tensor:
        """Return the entity probability (n,) of words (n,) mixed with the prior."""
        self.prediction = self.prediction.to(device=probability.device, dtype=probability.dtype)
        known = ids < len(self.prediction)
        mixed = probability.clone()
        mixed[known] = (1 - self.weight) * probability[known] + self.weight * self.prediction[ids[known]]
        return mixed

    def probability(self, ids: Tensor) -> Tensor:
        """Return only the weighted prior, (n,), of words (n,)."""
        return self.mix(torch.zeros(ids.shape, device=ids.device), ids)

    def state(self) -> dict[str, Tensor]:
        return {"prediction": self.prediction, "weight": torch.tensor(self.weight, dtype=torch.float64)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.learn(state["prediction"], state["weight"].item())
