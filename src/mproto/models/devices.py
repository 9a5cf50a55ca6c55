"""The device of a model."""

from __future__ import annotations

import os

import torch

from mproto.errors import InputError


def find_device(name: str = "auto") -> torch.device:
    """Return a device by name.

    Args:
        name: `auto`, `cpu`, `cuda` or `cuda:N`. `auto` is the GPU if there is one, else the CPU.
            Without a number, the GPU is the one of this process in distributed training
            (`LOCAL_RANK`), else the first.

    Raises:
        InputError: there is no such device on this machine.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"there is no device {name!r}", hint="choose auto, cpu, cuda or cuda:N") from None
    if name == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    # Other devices have no float64, which transport needs.
    count = {"cpu": 1, "cuda": torch.cuda.device_count()}.get(device.type, 0)
    if (device.index or 0) >= count:
        raise InputError(f"the device '{device}' is not available", hint="choose auto or cpu")
    return device
