"""Tensors on disk, as safetensors: never pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safetensors import SafetensorError
from safetensors.torch import save_file

from mproto.io.outputs import usual_permissions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file.

    Raises:
        OSError: it cannot be written, because the disk is full, say.
    """
    try:
        save_file({name: value.contiguous() for name, value in tensors.items()}, path, metadata)
    except SafetensorError as error:
        raise OSError(str(error)) from None
    usual_permissions(path)
