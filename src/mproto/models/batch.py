"""Windows to batches: which go together, and their tensors."""

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

POOL = 50  # batches that are sorted by length together: more would pad less, and mix less


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """B windows, filled up to T sub-words, with W own words.

    Attributes:
        input_ids: (B, T) long.
        attention_mask: (B, T) long, 1 for a sub-word and 0 for filling.
        shapes: (B, T) long, how the sub-word's word is written (`shapes.py`).
        rows: (W,) long, the window of each own word's feature.
        columns: (W,) long, its place there.
        windows: the B windows; own words are in their order.
        labels: (W,) long, the class of each own word, or none.
        words: (W,) long, a number for each own word, the same for the same word, or none.
        certain: (W,) bool, whether a person labelled the document, so that what has no label is no entity; or none.
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
        """The same batch on another device."""
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
        """The windows, and which of the W words are each one's own."""
        position = 0
        for window in self.windows:
            yield window, slice(position, position := position + len(window.firsts))


def only_words(batch: Batch, keep: Tensor) -> Batch:
    """The same input, of whose W own words only some count; for models that look at each word for itself.

    Args:
        batch: any.
        keep: (W,) bool.
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
    """One batch of these windows.

    Args:
        windows: at least one.
        pad_id: the sub-word to fill up with.
        labels: the class of every word of every document, by `window.document` and word.
        words: the number of every word, in the same way.
        certain: whether a person labelled it, for every document.
    """
    if not windows:
        raise ValueError("a batch needs a window")
    longest = max(len(window.input_ids) for window in windows)
    gaps = [longest - len(window.input_ids) for window in windows]
    rows = [row for row, window in enumerate(windows) for _ in window.firsts]
    return Batch(
        input_ids=torch.tensor([[*w.input_ids, *[pad_id] * gap] for w, gap in zip(windows, gaps, strict=True)]),
        attention_mask=torch.tensor([[1] * (longest - gap) + [0] * gap for gap in gaps]),
        shapes=torch.tensor([[*w.shapes, *[Shape.NONE] * gap] for w, gap in zip(windows, gaps, strict=True)]),
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
    own = labels[window.document][window.start : window.start + len(window.firsts)]
    if len(own) != len(window.firsts):
        raise ValueError(f"document {window.document} has more words than its {len(labels[window.document])} labels")
    return own


def plan(
    lengths: Sequence[int], *, batch_size: int, token_budget: int, generator: torch.Generator | None = None
) -> list[list[int]]:
    """Which windows go together: batches of indices, every index once, those of like length together.

    A batch has at most `batch_size` windows and, filled up, at most `token_budget` sub-words; a window beyond the budget
    goes alone. With a generator, order and company are random and new at every call; without, the longest come first,
    so that memory that does not suffice shows at once.

    Args:
        lengths: sub-words of each window.
        batch_size: most windows of a batch.
        token_budget: most sub-words of a batch, filling included.
        generator: of the random order.
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
    return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]
