"""AutoNER: predict whether neighbouring words are tied or broken apart, then the type of each piece between two breaks.

Shang et al., *Learning Named Entity Tagger using Domain-Specific Dictionary* (EMNLP 2018). Phrases of unknown type, from a
larger dictionary, are excluded: the gaps inside them and at their edges are not used for training.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from mproto.errors import InputError
from mproto.gazetteer import Gazetteer, Matcher
from mproto.models.base import Decisions, Model, Prediction, Step
from mproto.models.baselines.spans import SpanScorer, tag_words
from mproto.text.document import WordSpan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import AutoNER
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.document import Document

BREAK, TIE = 0, 1


class Targets(NamedTuple):
    """Training targets of a batch.

    Attributes:
        gaps: (G,) long, the index of the word before each gap that has a known target.
        ties: (G,) long, TIE or BREAK.
        first, last: (S,) long, first and last word of each piece between breaks.
        allowed: (S, K) bool, its possible types; the first column is no entity.
    """

    gaps: Tensor
    ties: Tensor
    first: Tensor
    last: Tensor
    allowed: Tensor


class AutoNERModel(Model):
    """Two scorers on the word features: one for gaps between neighbouring words, one for the types of pieces."""

    by_word = False

    def __init__(self, encoder: Encoder, labels: Iterable[str], settings: AutoNER, dropout: float) -> None:
        super().__init__(encoder, labels, "bio")
        self.settings = settings
        self.dropout = nn.Dropout(dropout)
        self.gaps = SpanScorer(encoder.hidden_size, 2)
        self.types = SpanScorer(encoder.hidden_size, len(self.labels) + 1)
        self.unknown = len(self.tags)
        """The tag of the first word of a phrase; that of its other words is one higher. Only training data have them."""

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        return cls(encoder, labels, config.autoner, config.dropout)

    @cached_property
    def _phrases(self) -> Matcher | None:
        if not self.settings.phrases:
            return None
        try:
            return Matcher(Gazetteer.load({"phrase": self.settings.phrases}))
        except InputError as error:
            raise InputError(f"autoner.phrases cannot be read: {error}") from None

    def tag_numbers(self, document: Document) -> list[int]:
        numbers = super().tag_numbers(document)
        for start, end, _ in self._phrases.word_spans(document) if self._phrases else ():
            if not any(numbers[start:end]):
                numbers[start:end] = [self.unknown, *[self.unknown + 1] * (end - start - 1)]
        return numbers

    def step(self, batch: Batch, progress: float) -> Step:  # noqa: ARG002
        """Return the mean loss of gaps plus the mean loss of types."""
        targets = self.targets(batch)
        features = self.dropout(self.encoder(batch))
        gaps = self.gaps(features, targets.gaps, targets.gaps + 1).log_softmax(-1)
        types = self.types(features, targets.first, targets.last)
        counts = self.group.sum(torch.tensor([len(targets.gaps), len(targets.first)])).clamp_min(1).tolist()
        tying = -gaps.gather(1, targets.ties.unsqueeze(-1)).sum() / counts[0]
        typing = typing_loss(types, targets.allowed) / counts[1]
        logs = {"tying": tying.item() * self.group.size, "typing": typing.item() * self.group.size}
        return Step((tying + typing) * self.group.size, 1, logs)  # gradients must be summed, not averaged

    def targets(self, batch: Batch) -> Targets:
        """Return the training targets of a labelled batch."""
        assert batch.labels is not None
        labels = batch.labels.tolist()
        class_of = [*self.class_of_tag, -1, -1]
        continues = [number > 0 and number % 2 == 0 for number in range(len(self.tags))] + [False, True]
        gaps, ties, spans, classes = [], [], [], []
        for _, own in batch.own_words:
            starts = [i for i in range(own.start, own.stop) if i == own.start or not continues[labels[i]]]
            for start, end in pairwise([*starts, own.stop]):
                spans.append((start, end - 1))
                classes.append(class_of[labels[start]])
            for i in range(own.start, own.stop - 1):
                if class_of[labels[i]] >= 0 and class_of[labels[i + 1]] >= 0:
                    gaps.append(i)
                    ties.append(TIE if continues[labels[i + 1]] else BREAK)
        device = batch.labels.device
        first, last = torch.tensor(spans, dtype=torch.long, device=device).reshape(-1, 2).unbind(-1)
        own_class = torch.tensor(classes, dtype=torch.long, device=device).unsqueeze(-1)
        allowed = (own_class < 0) | (own_class == torch.arange(len(self.labels) + 1, device=device))
        gap, tie = torch.tensor([gaps, ties], dtype=torch.long, device=device)
        return Targets(gap, tie, first, last, allowed)

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:
        features = self.dropout(self.encoder(batch))
        before = [i for _, own in batch.own_words for i in range(own.start, own.stop - 1)]
        gap = torch.tensor(before, dtype=torch.long, device=features.device)
        gaps = self.gaps(features, gap, gap + 1).log_softmax(-1)
        first, last = like.about if like else self._between_breaks(batch, gap[gaps.argmax(-1) == TIE])
        return Decisions((gaps, self.types(features, first, last).log_softmax(-1)), (first, last))

    def _between_breaks(self, batch: Batch, tied: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first and last words of the pieces, given the words that are tied to their successor."""
        ties = set(tied.tolist())
        first, last = [], []
        for _, own in batch.own_words:
            starts = [i for i in range(own.start, own.stop) if i == own.start or i - 1 not in ties]
            first += starts
            last += [end - 1 for end in [*starts[1:], own.stop]] if starts else []
        device = tied.device
        return torch.tensor(first, dtype=torch.long, device=device), torch.tensor(last, dtype=torch.long, device=device)

    @torch.no_grad()
    def predict(self, batch: Batch) -> Prediction:
        decisions = self.decide(batch)
        best = decisions.answers[1].exp().max(-1)
        rows = zip(*(values.tolist() for values in (*decisions.about, best.indices, best.values)), strict=True)
        spans = [(WordSpan(first, last + 1, self.labels[kind - 1]), score) for first, last, kind, score in rows if kind]
        return Prediction(*tag_words(batch, spans, self.tags))


def typing_loss(logits: Tensor, allowed: Tensor) -> Tensor:
    """Return the sum over pieces of −log p(any allowed type).

    With one allowed type this is the cross-entropy; with all types allowed it is 0. Its gradient is that of −Σ q log p for
    fixed q ∝ p on the allowed types.

    Args:
        logits: (S, K).
        allowed: (S, K) bool, at least one in each row.
    """
    restricted = logits.masked_fill(~allowed, -torch.inf)
    return (logits.logsumexp(-1) - restricted.logsumexp(-1)).sum()
