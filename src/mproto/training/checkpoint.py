"""Checkpoints on disk: one safetensors file each, whole or not there, with a checksum in its name; the last two are kept."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from safetensors import safe_open

from mproto.persistence.tensors import save_tensors
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
    """The newest checkpoint that is whole, if there is one, and the newer ones that are not."""

    state: State | None
    damaged: list[Path]


def save(folder: Path, state: State) -> None:
    """Write a checkpoint beside the older ones, and remove all but the last two.

    Raises:
        OSError: it cannot be written; the older ones are as they were.
    """
    folder.mkdir(exist_ok=True)
    partial = folder / _PARTIAL
    try:
        save_tensors(state.tensors, partial, {_VALUES: json.dumps(state.values)})
        digest = _digest(partial)
        sync(partial)
        partial.rename(folder / f"{state.values['step']:08d}-{digest}.safetensors")
    finally:
        partial.unlink(missing_ok=True)
    sync(folder)
    for old in list(_newest_first(folder))[KEPT:]:
        old.unlink(missing_ok=True)


def newest(folder: Path) -> Found:
    """The newest checkpoint that is what was written.

    Raises:
        OSError: one cannot be read at all.
    """
    damaged: list[Path] = []
    for path in _newest_first(folder):
        match = _NAME.fullmatch(path.name)
        if match and _digest(path) == match[2]:
            with safe_open(path, "pt") as file:
                values = json.loads(file.metadata()[_VALUES])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            return Found(State(tensors, values), damaged)
        damaged.append(path)
    return Found(None, damaged)


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name != "posix":
        return  # where folders cannot be opened
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _newest_first(folder: Path) -> Iterator[Path]:
    paths = folder.iterdir() if folder.is_dir() else ()
    yield from sorted((path for path in paths if _NAME.fullmatch(path.name)), reverse=True)


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()[:32]
