"""Spans of words: enumerate, score, and remove overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from mproto.models.batch import Batch
    from mproto.text.document import WordSpan


HIDDEN = 256
"""Width of the hidden layer."""


class SpanScorer(nn.Module):
    """Scores spans from the features of their first and last words.

    One tanh layer over [h_i; h_j; h_i − h_j; h_i ⊙ h_j]. The difference is linear in the first two parts and needs no
    weights of its own. The contributions of h_i and h_j are computed once per word, not once per span.
    """

    def __init__(self, dimension: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(dimension, HIDDEN)
        self.last = nn.Linear(dimension, HIDDEN, bias=False)
        self.product = nn.Linear(dimension, HIDDEN, bias=False)
        self.output = nn.Linear(HIDDEN, classes)

    def forward(self, features: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """Return the logits (S, C) of S spans.

        Args:
            features: (W, d) of the words.
            first: (S,) long, the first word of each span.
            last: (S,) long, its last word.
        """
        hidden = self.first(features)[first] + self.last(features)[last]
        scores: Tensor = self.output(torch.tanh(hidden + self.product(features[first] * features[last])))
        return scores


def all_spans(batch: Batch, longest: int) -> tuple[Tensor, Tensor]:
    """Return the first (S,) and last words (S,) of all spans in the batch with at most `longest` words."""
    firsts, lasts = [], []
    for _, own in batch.own_words:
        first = torch.arange(own.start, own.stop).unsqueeze(-1).expand(-1, longest)
        last = first + torch.arange(longest)
        inside = last < own.stop
        firsts.append(first[inside])
        lasts.append(last[inside])
    device = batch.rows.device
    return torch.cat(firsts).to(device), torch.cat(lasts).to(device)


def greedy(candidates: Iterable[tuple[float, int, int]]) -> list[int]:
    """Select spans without overlaps, the highest scores first. Return their indices in ascending order.

    Args:
        candidates: score, first and last word of each span.
    """
    spans = list(candidates)
    taken: set[int] = set()
    kept = []
    for index in sorted(range(len(spans)), key=lambda index: -spans[index][0]):
        _, first, last = spans[index]
        words = range(first, last + 1)
        if taken.isdisjoint(words):
            taken.update(words)
            kept.append(index)
    return sorted(kept)


def tag_words(batch: Batch, spans: Sequence[tuple[WordSpan, float]], tags: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return BIO tags (W,) and scores (W,) of the words of a batch; the score of words outside of spans is 1.

    Documents are split into windows between words, not between entities. A span at the start of a window that is not the
    first of its document therefore continues a span of the same type at the end of the previous window.

    Args:
        batch: the words.
        spans: spans without overlaps, with their scores.
        tags: all tags in order.
    """
    numbers = {tag: number for number, tag in enumerate(tags)}
    word_tags, scores = torch.zeros(len(batch.rows), dtype=torch.long), torch.ones(len(batch.rows))
    inner = {own.start for window, own in batch.own_words if window.start > 0}
    for (start, end, label), score in spans:
        word_tags[start:end] = numbers[f"I-{label}"]
        if start not in inner:
            word_tags[start] = numbers[f"B-{label}"]
        scores[start:end] = score
    return word_tags.to(batch.rows.device), scores.to(batch.rows.device)
