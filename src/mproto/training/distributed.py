"""Several processes that train one model, each on a part of every batch.

    torchrun --nproc-per-node 2 -m mproto train …          (or: accelerate launch -m mproto train …)

Each process takes its part of a batch through the encoder. Which prototype each word is assigned to is decided on the
similarities of all words of all processes, and the sums that move prototypes are added up, so that two processes with
batches of 16 train the model of one with batches of 32. Accelerate starts the processes' connection (gloo on CPUs, NCCL on
GPUs) and adds up the gradients.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
from torch import nn

from mproto.errors import MissingExtraError, MprotoError
from mproto.models.process_group import ALONE, Group

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import Tensor

    from mproto.models.base import Model


PATIENCE = timedelta(hours=12)
"""How long processes wait for one that evaluates or writes."""


def find_group(device: torch.device) -> Group:
    """The group that this process was started in: `torchrun` and `accelerate launch` say so in its environment.

    Raises:
        MissingExtraError: there are several processes, and no Accelerate.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return ALONE
    try:
        from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
    except ImportError:
        raise MissingExtraError("training in several processes", "distributed") from None
    handlers = [
        DistributedDataParallelKwargs(broadcast_buffers=False),  # prototypes: they are the same everywhere
        InitProcessGroupKwargs(timeout=PATIENCE),
    ]
    return Processes(Accelerator(cpu=device.type == "cpu", kwargs_handlers=handlers))


class Processes(Group):
    """Processes that Accelerate has connected."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.size, self.rank = accelerator.num_processes, accelerator.process_index

    def gather(self, rows: Tensor) -> tuple[Tensor, slice]:
        counts = self._all(torch.tensor([len(rows)])).tolist()
        filled = rows.new_zeros(max(counts), *rows.shape[1:])
        filled[: len(rows)] = rows.detach()
        parts = self._all(filled).reshape(self.size, *filled.shape)
        own = slice(sum(counts[: self.rank]), sum(counts[: self.rank + 1]))
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]), own

    def _all(self, rows: Tensor) -> Tensor:
        found: Tensor = self.accelerator.gather(rows.to(self.accelerator.device))
        return found.to(rows.device)

    def sum(self, values: Tensor) -> Tensor:
        total: Tensor = self.accelerator.reduce(values.detach().to(self.accelerator.device, copy=True), "sum")
        return total.to(values.device)

    def wait(self) -> None:
        self.accelerator.wait_for_everyone()


def share_gradients(model: Model, group: Group) -> nn.Module:
    """The model, or a wrapper whose backward pass averages gradients over the group."""
    if not isinstance(group, Processes):
        return model
    wrapped: nn.Module = group.accelerator.prepare_model(model)
    return wrapped


def check_same(model: Model, group: Group) -> None:
    """Make sure that the model is the same everywhere.

    Raises:
        MprotoError: its state is not; which cannot be, unless something is wrong here or with a machine.
    """
    for name, value in model.state_dict().items():
        everywhere, _ = group.gather(value.reshape(1, -1).to(torch.float64))
        if not torch.equal(everywhere, everywhere[:1].expand_as(everywhere)):
            raise MprotoError(f"{name} is not the same in all processes")
