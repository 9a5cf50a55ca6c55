"""The processes that train one model together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


class ProcessGroup:
    """A single process. `training/distributed.py` implements groups of several processes.

    Attributes:
        size: number of processes.
        rank: number of this process, from 0.
    """

    size = 1
    rank = 0

    def gather(self, rows: Tensor) -> tuple[Tensor, slice]:
        """Return the rows (n, …) of all processes, and the slice of this process.

        The rows are ordered by rank and have no gradient.
        """
        return rows, slice(None)

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum over all processes."""
        return values

    def wait(self) -> None:
        """Wait until all processes have called this."""

    def broadcast(self, values: Tensor) -> Tensor:
        """Return the values of the first process.

        Devices may round differently, but all processes must use the same values.
        """
        return self.sum(values if self.rank == 0 else torch.zeros_like(values))


SINGLE = ProcessGroup()
