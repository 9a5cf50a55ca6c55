"""Batches of windows: group windows into batches, and build their tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import TYPE_CHECKING

import torch

from mproto.encoding.plan import longest_first
from mproto.encoding.shapes import Shape
from mproto.encoding.windows import Window, make_windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

__all__ = ["Batch", "Window", "collate", "make_windows", "plan"]

POOL = 50
"""The number of batches whose windows are sorted by length together. A larger pool means less
padding, but less random batches."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """B windows, padded to T sub-words, with W own words in all.

    A window also contains words of its neighbours as context. Its own words are the ones
    whose features it provides.

    Attributes:
        input_ids: (B, T) long, the sub-words.
        attention_mask: (B, T) long, 1 for a sub-word and 0 for padding.
        shapes: (B, T) long, the shape of each sub-word's word (`encoding/shapes.py`).
        rows: (W,) long, the window of each own word.
        columns: (W,) long, the position of its first sub-word in the window.
        windows: the B windows; own words are in their order.
        labels: (W,) long, the class of each own word, or `None`.
        words: (W,) long, the id of each own word in the vocabulary of the training text, or `None`.
        certain: (W,) bool, whether the word's document has human labels, so that its O words are
            certainly not entities; or `None`.
    """

    input_ids: Tensor
    attention_mask: Tensor
    shapes: Tensor
    rows: Tensor
    columns: Tensor
    windows: tuple[Window, ...]
    labels: Tensor | None = None
    words: Tensor | None = None
    certain: Tensor | None = None

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch on another device."""
        return replace(
            self,
            input_ids=self.input_ids.to(device),
            attention_mask=self.attention_mask.to(device),
            shapes=self.shapes.to(device),
            rows=self.rows.to(device),
            columns=self.columns.to(device),
            labels=None if self.labels is None else self.labels.to(device),
            words=None if self.words is None else self.words.to(device),
            certain=None if self.certain is None else self.certain.to(device),
        )

    @property
    def own_words(self) -> Iterator[tuple[Window, slice]]:
        """The windows, each with the slice of the W words that are its own."""
        position = 0
        for window in self.windows:
            yield window, slice(position, position := position + len(window.firsts))


def only_words(batch: Batch, keep: Tensor) -> Batch:
    """Return the batch with only some of its own words. The input stays the same.

    Only models that tag each word independently can use the result.

    Args:
        batch: the batch.
        keep: (W,) bool, the own words to keep.
    """
    parts = torch.split(keep, [len(window.firsts) for window in batch.windows])
    return replace(
        batch,
        rows=batch.rows[keep],
        columns=batch.columns[keep],
        windows=tuple(
            replace(window, firsts=list(compress(window.firsts, part.tolist())))
            for window, part in zip(batch.windows, parts, strict=True)
        ),
        labels=None if batch.labels is None else batch.labels[keep],
        words=None if batch.words is None else batch.words[keep],
        certain=None if batch.certain is None else batch.certain[keep],
    )


def collate(
    windows: Sequence[Window],
    pad_id: int,
    labels: Sequence[Sequence[int]] | None = None,
    words: Sequence[Sequence[int]] | None = None,
    certain: Sequence[bool] | None = None,
) -> Batch:
    """Make a batch of windows.

    Args:
        windows: at least one window.
        pad_id: the padding sub-word.
        labels: the class of each word of each document; the first index is `window.document`.
        words: the id of each word of each document, in the same way.
        certain: whether each document has human labels.

    Raises:
        ValueError: there is no window, or a document has fewer labels than words.
    """
    if not windows:
        raise ValueError("a batch needs at least one window")
    longest = max(len(window.input_ids) for window in windows)
    padding = [longest - len(window.input_ids) for window in windows]
    rows = [row for row, window in enumerate(windows) for _ in window.firsts]
    return Batch(
        input_ids=torch.tensor([[*w.input_ids, *[pad_id] * gap] for w, gap in zip(windows, padding, strict=True)]),
        attention_mask=torch.tensor([[1] * (longest - gap) + [0] * gap for gap in padding]),
        shapes=torch.tensor([[*w.shapes, *[Shape.NONE] * gap] for w, gap in zip(windows, padding, strict=True)]),
        rows=torch.tensor(rows),
        columns=torch.tensor([position for window in windows for position in window.firsts]),
        windows=tuple(windows),
        labels=None if labels is None else torch.tensor([label for w in windows for label in _own(labels, w)]),
        words=None if words is None else torch.tensor([word for w in windows for word in _own(words, w)]),
        certain=None
        if certain is None
        else torch.tensor([certain[windows[row].document] for row in rows], dtype=torch.bool),
    )


def _own(labels: Sequence[Sequence[int]], window: Window) -> Sequence[int]:
    """Return the labels of a window's own words."""
    own = labels[window.document][window.start : window.start + len(window.firsts)]
    if len(own) != len(window.firsts):
        raise ValueError(f"document {window.document} has more words than its {len(labels[window.document])} labels")
    return own


def plan(
    lengths: Sequence[int], *, batch_size: int, token_budget: int, generator: torch.Generator | None = None
) -> list[list[int]]:
    """Group windows of similar length into batches, and return the indices of each batch.

    Every index occurs once.

    With a generator, the batches and their order are random, and different in every call. Without
    one, the longest windows come first, so that a lack of memory is noticed in the first batch.

    Args:
        lengths: the number of sub-words of each window.
        batch_size: maximum number of windows in a batch.
        token_budget: maximum number of sub-words in a batch, padding included. A longer window is
            a batch of its own.
        generator: the random generator, for training.

    Raises:
        ValueError: the batch size or the budget is less than 1.
    """
    if generator is None:
        return longest_first(range(len(lengths)), lengths, batch_size=batch_size, token_budget=token_budget)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    pools = max(
        1, len(order) // (POOL * max(batch_size, 1))
    )  # the last takes the rest, so that none is small and uneven
    edges = [pool * POOL * batch_size for pool in range(pools)] + [len(order)]
    batches = [
        batch
        for start, stop in pairwise(edges)
        for batch in longest_first(order[start:stop], lengths, batch_size=batch_size, token_budget=token_budget)
    ]
    return [batches[index] for index in torch.randperm(len(batches), generator=generator).tolist()]
