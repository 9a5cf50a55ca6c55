"""Train one model in several processes, each on a part of every batch.

    torchrun --nproc-per-node 2 -m mproto train …          (or: accelerate launch -m mproto train …)

Each process runs its part of a batch through the encoder. Words are assigned to prototypes on the similarities of all
processes together, and the sums that update the prototypes are all-reduced. Two processes with batches of 16 therefore
train the same model as one process with batches of 32. Accelerate connects the processes (gloo on CPUs, NCCL on GPUs) and
averages the gradients.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
from torch import nn

from mproto.errors import MissingExtraError, MprotoError
from mproto.models.process_group import SINGLE, ProcessGroup

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import Tensor

    from mproto.models.base import Model


TIMEOUT = timedelta(hours=12)
"""Maximum time that processes wait for the one that evaluates or writes."""


def find_group(device: torch.device) -> ProcessGroup:
    """Return the process group that `torchrun` or `accelerate launch` started this process in.

    Raises:
        MissingExtraError: there are several processes, but Accelerate is not installed.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return SINGLE
    try:
        from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
    except ImportError:
        raise MissingExtraError("training in several processes", "distributed") from None
    handlers = [
        DistributedDataParallelKwargs(broadcast_buffers=False),  # the prototypes, which are the same in all processes
        InitProcessGroupKwargs(timeout=TIMEOUT),
    ]
    return AccelerateGroup(Accelerator(cpu=device.type == "cpu", kwargs_handlers=handlers))


class AccelerateGroup(ProcessGroup):
    """Several processes, connected by Accelerate."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.size, self.rank = accelerator.num_processes, accelerator.process_index

    def gather(self, rows: Tensor) -> tuple[Tensor, slice]:
        counts = self._all(torch.tensor([len(rows)])).tolist()
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows.detach()
        parts = self._all(padded).reshape(self.size, *padded.shape)
        own = slice(sum(counts[: self.rank]), sum(counts[: self.rank + 1]))
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]), own

    def _all(self, rows: Tensor) -> Tensor:
        gathered: Tensor = self.accelerator.gather(rows.to(self.accelerator.device))
        return gathered.to(rows.device)

    def sum(self, values: Tensor) -> Tensor:
        total: Tensor = self.accelerator.reduce(values.detach().to(self.accelerator.device, copy=True), "sum")
        return total.to(values.device)

    def wait(self) -> None:
        self.accelerator.wait_for_everyone()


def share_gradients(model: Model, group: ProcessGroup) -> nn.Module:
    """Return the model, or a wrapper whose backward pass averages gradients over the group."""
    if not isinstance(group, AccelerateGroup):
        return model
    wrapped: nn.Module = group.accelerator.prepare_model(model)
    return wrapped


def check_same(model: Model, group: ProcessGroup) -> None:
    """Check that the model is the same in all processes.

    Raises:
        MprotoError: it differs, because of a bug or a faulty machine.
    """
    for name, value in model.state_dict().items():
        everywhere, _ = group.gather(value.reshape(1, -1).to(torch.float64))
        if not torch.equal(everywhere, everywhere[:1].expand_as(everywhere)):
            raise MprotoError(f"{name} is not the same in all processes")
