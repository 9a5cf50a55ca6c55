"""Negative sampling on words: each step uses a sample of the O words, so that few unlabelled entities are learnt as O.

This is the form that the MProto paper compares with. The original classifies spans (`span_sampling.py`): Li et al.,
*Empirical Analysis of Unlabeled Entity Problem in Named Entity Recognition* (ICLR 2021).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from mproto.method.prototypes import OTHER
from mproto.models.base import Step
from mproto.models.baselines.tagger import TaggerModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.config import Config
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder


class NegativeSamplingModel(TaggerModel):
    """The plain tagger with cross-entropy over the labelled words and a random sample of the O words."""

    def __init__(self, encoder: Encoder, labels: Iterable[str], config: Config) -> None:
        super().__init__(encoder, labels, config)
        self.keep = config.negative_sampling.keep

    def step(self, batch: Batch, progress: float) -> Step:  # noqa: ARG002
        assert batch.labels is not None
        drawn = torch.rand(len(batch.labels)).to(batch.labels.device) < self.keep
        kept = drawn | (batch.labels != OTHER)
        loss = cross_entropy(self.logits(batch)[kept], batch.labels[kept], reduction="sum")
        count = int(kept.sum())
        other = max(int((batch.labels == OTHER).sum()), 1)
        return Step(loss / max(count, 1), count, {"kept": int((kept & (batch.labels == OTHER)).sum()) / other})
