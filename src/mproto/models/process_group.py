"""The processes that train one model together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


class ProcessGroup:
    """A single process. `training/distributed.py` implements groups of several.

    Attributes:
        size: number of processes.
        rank: number of this process, from 0.
    """

    size = 1
    rank = 0

    def gather(self, rows: Tensor) -> tuple[Tensor, slice]:
        """Return the rows (n, …) of all processes, ordered by rank, and which of them are this one's. No gradient."""
        return rows, slice(None)

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum over all processes."""
        return values

    def wait(self) -> None:
        """Wait until all processes are here."""

    def broadcast(self, values: Tensor) -> Tensor:
        """Return the values of the first process: devices may round differently, and all processes must agree."""
        return self.sum(values if self.rank == 0 else torch.zeros_like(values))


SINGLE = ProcessGroup()
