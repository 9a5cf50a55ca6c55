"""Save tensors as safetensors, never as pickles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safetensors import SafetensorError
from safetensors.torch import save_file

from mproto.io.atomic import usual_permissions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file.

    Raises:
        OSError: the file cannot be written, for example because the disk is full.
    """
    try:
        save_file({name: value.contiguous() for name, value in tensors.items()}, path, metadata)
    except SafetensorError as error:
        raise OSError(str(error)) from None
    usual_permissions(path)
