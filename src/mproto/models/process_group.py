"""The processes that train one model together. A model needs to know little about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


class Group:
    """One process alone; `training/distributed.py` has several.

    Attributes:
        size: how many processes there are.
        rank: the number of this one, from 0.
    """

    size = 1
    rank = 0

    def gather(self, rows: Tensor) -> tuple[Tensor, slice]:
        """The rows (n, …) of every process, by rank, and which of them are this one's. No gradient goes through."""
        return rows, slice(None)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes, the same for each."""
        return values

    def wait(self) -> None:
        """Until all processes are here."""


ALONE = Group()
