"""Spans of a sentence's words: which there are, how they are scored, and which of them can stand side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from mproto.models.batch import Batch
    from mproto.text.document import WordSpan


class SpanScorer(nn.Module):
    """Logits of spans from the features of their first and last words.

    One tanh layer over [h_i; h_j; h_i − h_j; h_i ⊙ h_j]. The difference is linear in the first two, so it has no weights of
    its own, and what h_i and h_j add on their own is worked out once a word and not once a span.
    """

    def __init__(self, dimension: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(dimension, hidden)
        self.last = nn.Linear(dimension, hidden, bias=False)
        self.product = nn.Linear(dimension, hidden, bias=False)
        self.output = nn.Linear(hidden, classes)

    def forward(self, features: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """(S, C) of S spans.

        Args:
            features: (W, d) of the words.
            first: (S,) long, the first word of each span.
            last: (S,) long, its last word.
        """
        own = self.first(features)[first] + self.last(features)[last]
        scores: Tensor = self.output(torch.tanh(own + self.product(features[first] * features[last])))
        return scores


def all_spans(batch: Batch, longest: int) -> tuple[Tensor, Tensor]:
    """(S,) the first and (S,) the last word of every span of the batch's sentences, of at most so many words."""
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
    """Which spans stay, when the best one goes first and takes its words: the places of those, in order.

    Args:
        candidates: score, first and last word of each.
    """
    spans = list(candidates)
    taken: set[int] = set()
    kept = []
    for place in sorted(range(len(spans)), key=lambda place: -spans[place][0]):
        _, first, last = spans[place]
        words = range(first, last + 1)
        if taken.isdisjoint(words):
            taken.update(words)
            kept.append(place)
    return sorted(kept)


def tag_words(batch: Batch, spans: Sequence[tuple[WordSpan, float]], tags: Sequence[str]) -> tuple[Tensor, Tensor]:
    """BIO tags (W,) and scores (W,) of the batch's words, from spans that share none of them; 1 for words outside.

    A span at the very start of a window that is not its document's first goes on where the window before it ended, if that
    ends with a span of the same type: a text is split between words, not between entities.

    Args:
        batch: the words.
        spans: and how sure each is.
        tags: all tags, in their order.
    """
    numbers = {tag: number for number, tag in enumerate(tags)}
    found, scores = torch.zeros(len(batch.rows), dtype=torch.long), torch.ones(len(batch.rows))
    inner = {own.start for window, own in batch.own_words if window.start > 0}
    for (start, end, label), score in spans:
        found[start:end] = numbers[f"I-{label}"]
        if start not in inner:
            found[start] = numbers[f"B-{label}"]
        scores[start:end] = score
    return found.to(batch.rows.device), scores.to(batch.rows.device)
