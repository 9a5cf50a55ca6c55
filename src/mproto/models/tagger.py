"""A linear layer over the encoder, trained on its labels as they are: the fully supervised model, and the plain baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from mproto.models.base import Model, Prediction, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.config import Config
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.tagging import OutputScheme


class TaggerModel(Model):
    """Cross-entropy over BIO (or IO) tags."""

    def __init__(self, encoder: Encoder, labels: Iterable[str], scheme: OutputScheme, dropout: float) -> None:
        super().__init__(encoder, labels, scheme)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.hidden_size, len(self.tags))

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> TaggerModel:
        return cls(encoder, labels, config.tagger.scheme, config.tagger.dropout)

    def step(self, batch: Batch, progress: float) -> Step:  # noqa: ARG002
        assert batch.labels is not None
        logits = self.head(self.dropout(self.encoder(batch)))
        loss = cross_entropy(logits, batch.labels, reduction="sum") / max(len(batch.labels), 1)
        return Step(loss, len(batch.labels))

    @torch.no_grad()
    def predict(self, batch: Batch) -> Prediction:
        return Prediction(torch.softmax(self.head(self.encoder(batch)), -1))
