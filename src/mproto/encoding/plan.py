"""Group windows into batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CPU_TOKEN_BUDGET = 1024
"""The maximum number of sub-words in a batch on a CPU.

Larger batches do not fit into its cache and are slower per sub-word.
"""


def longest_first(
    indices: Sequence[int], lengths: Sequence[int], *, batch_size: int, token_budget: int
) -> list[list[int]]:
    """Group windows into batches by descending length.

    The first window of a batch is its longest. The first batch needs the most memory, so running
    out of memory shows at once and not after an hour.

    Args:
        indices: the windows to group, each once.
        lengths: the number of sub-words of every window; `indices` point into it.
        batch_size: the maximum number of windows in a batch.
        token_budget: the maximum number of sub-words in a batch, padding included. A longer window
            forms its own batch.

    Returns:
        The indices of each batch.
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
