"""A linear layer over the encoder, trained on its labels as they are: the fully supervised model, and the plain baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from mproto.models.base import Decisions, Model, Prediction, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from mproto.config import Config
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.tagging import OutputScheme


class TaggerModel(Model):
    """Cross-entropy over BIO (or IO) tags. Several baselines are this one with another loss."""

    def __init__(
        self, encoder: Encoder, labels: Iterable[str], config: Config, scheme: OutputScheme | None = None
    ) -> None:
        super().__init__(encoder, labels, scheme or config.tagger.scheme)
        self.dropout = nn.Dropout(config.tagger.dropout)
        self.head = nn.Linear(encoder.hidden_size, len(self.tags))

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        return cls(encoder, labels, config)

    def logits(self, batch: Batch) -> Tensor:
        """(W, T), for words and tags."""
        found: Tensor = self.head(self.dropout(self.encoder(batch)))
        return found

    def step(self, batch: Batch, progress: float) -> Step:  # noqa: ARG002
        assert batch.labels is not None
        loss = cross_entropy(self.logits(batch), batch.labels, reduction="sum") / max(len(batch.labels), 1)
        return Step(loss, len(batch.labels))

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:  # noqa: ARG002
        return Decisions((self.logits(batch).log_softmax(-1),))

    @torch.no_grad()
    def predict(self, batch: Batch) -> Prediction:
        best = (self.logits(batch) / self.calibration).softmax(-1).max(-1)
        return Prediction(best.indices, best.values)
