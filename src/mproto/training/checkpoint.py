"""Checkpoints on disk: one safetensors file each, whole or not there, with a checksum in its name; the last two are kept."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from mproto.training.loop import State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEPT = 2
_NAME = re.compile(r"(\d{8})-([0-9a-f]{32})\.safetensors")
_PARTIAL = ".partial"
_VALUES = "mproto"
_CHUNK = 1 << 20


class Found(NamedTuple):
    """A checkpoint that is whole.

    Attributes:
        state: what it holds.
        damaged: newer ones that are not whole.
    """

    state: State
    damaged: list[Path]


def save(folder: Path, state: State) -> Path:
    """Write a checkpoint beside the older ones, and remove all but the last two.

    Raises:
        OSError: it cannot be written; the older ones are as they were.
    """
    folder.mkdir(exist_ok=True)
    partial = folder / _PARTIAL
    try:
        tensors = {name: value.contiguous() for name, value in state.tensors.items()}
        try:
            save_file(tensors, partial, {_VALUES: json.dumps(state.values)})
        except SafetensorError as error:  # its own error for a full disk
            raise OSError(str(error)) from None
        digest = _digest(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        path = folder / f"{state.values['step']:08d}-{digest}.safetensors"
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    _sync(folder)
    for old in list(_newest_first(folder))[KEPT:]:
        old.unlink(missing_ok=True)
    return path


def newest(folder: Path) -> Found | None:
    """The newest checkpoint that is whole, or none."""
    damaged: list[Path] = []
    for path in _newest_first(folder):
        state = _load(path)
        if state is not None:
            return Found(state, damaged)
        damaged.append(path)
    return None


def count(folder: Path) -> int:
    """How many there are, whole or not."""
    return len(list(_newest_first(folder)))


def _newest_first(folder: Path) -> Iterator[Path]:
    paths = folder.iterdir() if folder.is_dir() else ()
    yield from sorted((path for path in paths if _NAME.fullmatch(path.name)), reverse=True)


def _load(path: Path) -> State | None:
    """What a checkpoint holds; nothing if it is not what was written."""
    match = _NAME.fullmatch(path.name)
    try:
        if match is None or _digest(path) != match[2]:
            return None
        with safe_open(path, "pt") as file:
            values = json.loads(file.metadata()[_VALUES])
            return State({name: file.get_tensor(name) for name in file.keys()}, values)  # noqa: SIM118 (not a mapping)
    except (OSError, SafetensorError, ValueError, KeyError):
        return None


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()[:32]


def _sync(folder: Path) -> None:
    """Make sure that the new name is on the disk, where folders can be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
