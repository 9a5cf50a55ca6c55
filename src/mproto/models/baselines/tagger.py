"""The plain tagger: a linear layer on the encoder, trained with cross-entropy. It trusts all labels.

On human labels it is the fully supervised model; on distant labels, the simplest baseline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from mproto.models.base import Decisions, Model, Prediction, Step, shift_entities

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from mproto.config import Config
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.tagging import OutputScheme


class TaggerModel(Model):
    """Predicts the tag of each word. Several baselines differ from it in their loss only."""

    def __init__(self, encoder: Encoder, labels: Iterable[str], config: Config, scheme: OutputScheme = "bio") -> None:
        super().__init__(encoder, labels, scheme)
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.Linear(encoder.hidden_size, len(self.tags))

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        return cls(encoder, labels, config)

    def logits(self, batch: Batch) -> Tensor:
        """Return the logits of words and tags, (W, T)."""
        logits: Tensor = self.head(self.dropout(self.encoder(batch)))
        return logits

    def step(self, batch: Batch, progress: float) -> Step:  # noqa: ARG002
        assert batch.labels is not None
        loss = cross_entropy(self.logits(batch), batch.labels, reduction="sum") / max(len(batch.labels), 1)
        return Step(loss, len(batch.labels))

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:  # noqa: ARG002
        return Decisions((self.logits(batch).log_softmax(-1),))

    @torch.no_grad()
    def predict(self, batch: Batch) -> Prediction:
        best = (shift_entities(self.logits(batch), self.entity_bias) / self.calibration).softmax(-1).max(-1)
        return Prediction(best.indices, best.values)
