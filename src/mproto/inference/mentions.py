"""Example mentions from training. New mentions are compared with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mproto.gazetteer.forms import MAX_CASE_SENSITIVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_MENTIONS = 10
"""The minimum number of mentions needed to decide whether the mentions of a type are names."""


class Mentions:
    """N mentions, each with its type and the feature vector of its first word.

    Args:
        texts: the mentions as they were written.
        labels: their types.
        features: (N, d); only the directions matter.

    Attributes:
        texts, labels: the same.
        directions: (N, d), the features with length 1, in float32.
    """

    def __init__(self, texts: list[str], labels: list[str], features: NDArray[Any]) -> None:
        self.texts, self.labels = texts, labels
        lengths = np.linalg.norm(features.astype(np.float32), axis=-1, keepdims=True)
        self.directions: NDArray[np.float32] = features.astype(np.float32) / np.maximum(lengths, 1e-12)
        self._of_type = {label: [i for i, own in enumerate(labels) if own == label] for label in set(labels)}

    def __len__(self) -> int:
        return len(self.texts)

    def nearest(self, feature: NDArray[Any], label: str, count: int = 3) -> list[str]:
        """Return the mentions of a type with the largest cosine to a feature vector, (d,)."""
        places = self._of_type.get(label, [])
        similarity = self.directions[places] @ feature.astype(np.float32)
        return [self.texts[places[i]] for i in np.argsort(-similarity, kind="stable")[:count]]

    def names(self) -> frozenset[str]:
        """Return the types whose mentions are names: at least two thirds begin with a capital.

        Short mentions and mentions in capitals do not count. At least ten others are needed.
        """
        capitals: dict[str, list[bool]] = {}
        for text, label in zip(self.texts, self.labels, strict=True):
            if len(text) > MAX_CASE_SENSITIVE and not text.isupper():
                capitals.setdefault(label, []).append(text[0].isupper())
        return frozenset(
            type_ for type_, own in capitals.items() if len(own) >= MIN_MENTIONS and 3 * sum(own) >= 2 * len(own)
        )
