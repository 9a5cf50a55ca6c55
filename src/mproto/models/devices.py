"""Where a model runs."""

from __future__ import annotations

import os

import torch

from mproto.errors import InputError


def find_device(name: str = "auto") -> torch.device:
    """A device by name; `auto` is the GPU where there is one (that of this process, where there are several).

    Raises:
        InputError: there is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"there is no device {name!r}", hint="choose auto, cpu, cuda or cuda:N") from None
    if name == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    count = {"cpu": 1, "cuda": torch.cuda.device_count()}.get(device.type, 0)  # others lack the float64 of transport
    if (device.index or 0) >= count:
        raise InputError(f"the device '{device}' is not there, or cannot be used", hint="choose auto, or cpu")
    return device
