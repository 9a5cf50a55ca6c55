"""Checkpoints on disk: one safetensors file each, with a checksum in its name.

The newest two are kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from safetensors import safe_open

from mproto.io.atomic import Staged
from mproto.io.replacement import sync
from mproto.persistence.tensors import save_tensors
from mproto.training.loop import State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEPT = 2
_NAME = re.compile(r"(\d{8})-([0-9a-f]{32})\.safetensors")
_VALUES = "mproto"
_CHUNK = 1 << 20


class Checkpoints(NamedTuple):
    """The checkpoints of a run.

    Attributes:
        newest: the state of the newest undamaged checkpoint, if there is one.
        damaged: the files of newer checkpoints, which are damaged.
    """

    newest: State | None
    damaged: list[Path]


def save(folder: Path, state: State) -> None:
    """Write a checkpoint, and delete all but the newest two.

    Raises:
        OSError: it cannot be written; the older ones are unchanged.
    """
    folder.mkdir(exist_ok=True)
    with Staged(folder / "checkpoint") as new:
        save_tensors(state.tensors, new.path, {_VALUES: json.dumps(state.values)})
        digest = _digest(new.path)
        new.sync()
        new.rename(folder / f"{state.values['step']:08d}-{digest}.safetensors")
    sync(folder)
    for old in list(_newest_first(folder))[KEPT:]:
        old.unlink(missing_ok=True)


def read(folder: Path) -> Checkpoints:
    """Read the newest checkpoint whose checksum is right.

    Raises:
        OSError: a checkpoint cannot be read.
    """
    damaged: list[Path] = []
    for path in _newest_first(folder):
        match = _NAME.fullmatch(path.name)
        if match and _digest(path) == match[2]:
            with safe_open(path, "pt") as file:
                values = json.loads(file.metadata()[_VALUES])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            return Checkpoints(State(tensors, values), damaged)
        damaged.append(path)
    return Checkpoints(None, damaged)


def _newest_first(folder: Path) -> Iterator[Path]:
    paths = folder.iterdir() if folder.is_dir() else ()
    yield from sorted((path for path in paths if _NAME.fullmatch(path.name)), reverse=True)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:32]
