"""Which windows are read together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHED = 1024
"""Sub-words that a CPU best reads together: more do not fit into its cache."""


def longest_first(
    indices: Sequence[int], lengths: Sequence[int], *, batch_size: int, token_budget: int
) -> list[list[int]]:
    """Batches in order of falling length: the first of each is its longest, and memory that does not suffice shows at once.

    A batch has at most `batch_size` windows and, filled up, at most `token_budget` sub-words; a window beyond the budget
    goes alone.

    Args:
        indices: of the windows, each once.
        lengths: sub-words of each window there is.
        batch_size: most windows of a batch.
        token_budget: most sub-words of a batch, filling included.
    """
    if batch_size < 1 or token_budget < 1:
        raise ValueError(f"batch_size {batch_size} and token_budget {token_budget} must be at least 1")
    batches: list[list[int]] = []
    for index in sorted(indices, key=lambda index: -lengths[index]):
        if batches:
            size = len(batches[-1]) + 1
            if size <= batch_size and size * lengths[batches[-1][0]] <= token_budget:
                batches[-1].append(index)
                continue
        batches.append([index])
    return batches
