"""Negative sampling on spans: a span classifier, trained on labelled spans and a sample of the unlabelled ones.

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


RATIO = 0.35
"""λ: int(λ·n) + 1 unlabelled spans of a sentence of n words take part in a step."""
MAX_WORDS = 16
"""Maximum length of predicted spans."""


class SpanSamplingModel(Model):
    """Classifies spans: class 0 is no entity, the others are the types."""

    by_word = False

    def __init__(self, encoder: Encoder, labels: Iterable[str], settings: NegativeSampling, dropout: float) -> None:
        super().__init__(encoder, labels, "bio")
        self.settings = settings
        self.dropout = nn.Dropout(dropout)
        self.scorer = SpanScorer(encoder.hidden_size, len(self.labels) + 1)

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        return cls(encoder, labels, config.negative_sampling, config.dropout)

    def step(self, batch: Batch, progress: float) -> Step:  # noqa: ARG002
        spans = self._sample(batch)
        first, last, classes = torch.tensor(spans, dtype=torch.long).reshape(-1, 3).T.to(self.device)
        logits = self.scorer(self.dropout(self.encoder(batch)), first, last)
        return Step(cross_entropy(logits, classes, reduction="sum") / max(len(spans), 1), len(spans))

    def _sample(self, batch: Batch) -> list[tuple[int, int, int]]:
        """Return first word, last word and class of the labelled spans and of a sample of the others in each sentence."""
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
            count = int(RATIO * words) + 1 if words else 0
            chosen += [(*span, 0) for span in random_spans(own.start, own.stop, count, labelled)]
        return chosen

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:  # noqa: ARG002
        first, last = all_spans(batch, MAX_WORDS)
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
        """Return tags and scores of the predicted entities after removing overlaps."""
        entities = classes > 0
        numbers = classes[entities].tolist()
        candidates = list(zip(*(t[entities].tolist() for t in (scores, first, last)), strict=True))
        kept = [
            (WordSpan(start, end + 1, self.labels[numbers[index] - 1]), score)
            for index in greedy(candidates)
            for score, start, end in [candidates[index]]
        ]
        return tag_words(batch, kept, self.tags)


def random_spans(start: int, stop: int, count: int, without: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Draw up to `count` spans (first and last word) within the words from start to stop.

    Spans in `without` are not drawn.
    """
    excluded = set(without)
    words = stop - start
    first, last = torch.triu_indices(words, words)
    order = torch.randperm(len(first))[: count + len(excluded)]
    drawn = zip((start + first[order]).tolist(), (start + last[order]).tolist(), strict=True)
    return [span for span in drawn if span not in excluded][:count]
