"""Training mentions that a model remembers, so that it can say what a new one is like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from mproto.errors import InputError, in_short
from mproto.gazetteer.forms import MAX_CASE_SENSITIVE
from mproto.io.outputs import usual_permissions
from mproto.persistence.files import MENTIONS, check_no_pickle

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

LEAST = 10
"""Mentions of a type that must be there before it is called one of names."""


class Mentions:
    """N mentions, each with its type and the feature of its first word.

    Args:
        texts: as they were written.
        labels: their types.
        features: (N, d), of any length; directions are what counts.
    """

    def __init__(self, texts: list[str], labels: list[str], features: NDArray[Any]) -> None:
        self.texts, self.labels = texts, labels
        lengths = np.linalg.norm(features.astype(np.float32), axis=-1, keepdims=True)
        self._directions = features.astype(np.float32) / np.maximum(lengths, 1e-12)
        self._of_type = {label: [i for i, own in enumerate(labels) if own == label] for label in set(labels)}

    def __len__(self) -> int:
        return len(self.texts)

    def nearest(self, feature: NDArray[Any], label: str, count: int = 3) -> list[str]:
        """The mentions of a type that are most similar to a word's feature, (d,), by the cosine."""
        places = self._of_type.get(label, [])
        similarity = self._directions[places] @ feature.astype(np.float32)
        return [self.texts[places[i]] for i in np.argsort(-similarity, kind="stable")[:count]]

    def names(self) -> frozenset[str]:
        """Types whose mentions begin with a capital: two thirds of at least ten that are neither short nor in capitals."""
        capitals: dict[str, list[bool]] = {}
        for text, label in zip(self.texts, self.labels, strict=True):
            if len(text) > MAX_CASE_SENSITIVE and not text.isupper():
                capitals.setdefault(label, []).append(text[0].isupper())
        return frozenset(type_ for type_, own in capitals.items() if len(own) >= LEAST and 3 * sum(own) >= 2 * len(own))

    def save(self, folder: Path) -> None:
        """Write them beside a model; texts as JSON in the file's header."""
        header = {"texts": json.dumps(self.texts), "labels": json.dumps(self.labels)}
        try:
            save_file({"directions": self._directions.astype(np.float16)}, folder / MENTIONS, header)
        except SafetensorError as error:
            raise OSError(str(error)) from None
        usual_permissions(folder / MENTIONS)

    @classmethod
    def load(cls, folder: Path) -> Mentions | None:
        """Those of a model, if it has any.

        Raises:
            InputError: they cannot be read.
        """
        path = folder / MENTIONS
        if not path.is_file():
            return None
        check_no_pickle(path)
        try:
            with safe_open(path, "numpy") as file:
                header, directions = file.metadata(), file.get_tensor("directions")
            texts, labels = json.loads(header["texts"]), json.loads(header["labels"])
            if not len(texts) == len(labels) == len(directions):
                raise ValueError("its parts do not belong together")
        except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
            hint = "copy the model again, or delete the file: the model works without it"
            raise InputError(f"cannot be read: {in_short(error)}", path=path, hint=hint) from None
        return cls(texts, labels, directions)
