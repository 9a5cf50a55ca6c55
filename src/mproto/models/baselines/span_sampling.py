"""Negative sampling as first published: every span is classified, and few of the unlabelled ones are learnt as no entity.

Li et al., *Empirical Analysis of Unlabeled Entity Problem in Named Entity Recognition* (ICLR 2021).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from mproto.models.base import Decisions, Model, Prediction, Step
from mproto.models.baselines.spans import SpanScorer, all_spans, greedy, tag_words
from mproto.text.document import WordSpan
from mproto.text.tagging import decode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import NegativeSampling
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder


class SpanSamplingModel(Model):
    """Classes of spans: 0 for no entity, then the types."""

    by_word = False

    def __init__(self, encoder: Encoder, labels: Iterable[str], settings: NegativeSampling, dropout: float) -> None:
        super().__init__(encoder, labels, "bio")
        self.settings = settings
        self.dropout = nn.Dropout(dropout)
        self.scorer = SpanScorer(encoder.hidden_size, settings.hidden, len(self.labels) + 1)

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        return cls(encoder, labels, config.negative_sampling, config.tagger.dropout)

    def step(self, batch: Batch, progress: float) -> Step:  # noqa: ARG002
        spans = self._learnt_from(batch)
        first, last, classes = torch.tensor(spans, dtype=torch.long).reshape(-1, 3).T.to(self.device)
        logits = self.scorer(self.dropout(self.encoder(batch)), first, last)
        return Step(cross_entropy(logits, classes, reduction="sum") / max(len(spans), 1), len(spans))

    def _learnt_from(self, batch: Batch) -> list[tuple[int, int, int]]:
        """First word, last word and class of the labelled spans, and of some of the others of each sentence."""
        assert batch.labels is not None
        tags = [self.tags[number] for number in batch.labels.tolist()]
        numbers = {label: number for number, label in enumerate(self.labels, 1)}
        chosen = []
        for _, own in batch.own_words:
            labelled = {
                (own.start + start, own.start + end - 1): numbers[label]
                for start, end, label in decode(tags[own]).spans
            }
            chosen += [(*span, number) for span, number in labelled.items()]
            words = own.stop - own.start
            wanted = int(self.settings.ratio * words) + 1 if words else 0
            chosen += [(*span, 0) for span in random_spans(own.start, own.stop, wanted, labelled)]
        return chosen

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:  # noqa: ARG002
        first, last = all_spans(batch, self.settings.longest)
        logits = self.scorer(self.dropout(self.encoder(batch)), first, last)
        return Decisions((logits.log_softmax(-1),), (first, last))

    @torch.no_grad()
    def predict(self, batch: Batch) -> Prediction:
        decisions = self.decide(batch)
        best = decisions.answers[0].exp().max(-1)
        return Prediction(*self._tags(batch, best.indices, best.values, *decisions.about))

    def _tags(
        self, batch: Batch, classes: Tensor, scores: Tensor, first: Tensor, last: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What is left of the spans called entities when no two may share a word."""
        entities = classes > 0
        numbers = classes[entities].tolist()
        candidates = list(zip(*(t[entities].tolist() for t in (scores, first, last)), strict=True))
        kept = [
            (WordSpan(start, end + 1, self.labels[numbers[place] - 1]), score)
            for place in greedy(candidates)
            for score, start, end in [candidates[place]]
        ]
        return tag_words(batch, kept, self.tags)


def random_spans(start: int, stop: int, count: int, without: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """So many spans (first and last word) of the words from start to stop, any but some; all, where there are too few."""
    excluded = set(without)
    words = stop - start
    first, last = torch.triu_indices(words, words)
    order = torch.randperm(len(first))[: count + len(excluded)]
    drawn = zip((start + first[order]).tolist(), (start + last[order]).tolist(), strict=True)
    return [span for span in drawn if span not in excluded][:count]
