"""Sidecar files: small files in the same folder as the data that name its labels.

All data files of a folder share them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.io.outputs import STDOUT
from mproto.io.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mproto.text.formats.base import Target


def read_names(source: Source, path: Path) -> list[str] | None:
    """Return the names in `types.txt`, one per line, or `None` if there is no such file."""
    if not path.exists():
        return None
    return [name for _, line in source.beside(path).lines() if (name := line.strip()) and name != "O"]


def read_numbers(source: Source, path: Path) -> dict[str, int] | None:
    """Return the name-to-number map in `tag_to_id.json`, or `None` if there is no such file."""
    if not path.exists():
        return None
    sidecar = source.beside(path)
    try:
        numbers = json.loads(sidecar.text())
    except (ValueError, RecursionError) as error:
        raise sidecar.error(f"is not valid JSON ({error})", hint="correct it") from None
    if not isinstance(numbers, dict) or not all(isinstance(number, int) for number in numbers.values()):
        raise sidecar.error("is not a JSON object of names and numbers", hint='for example {"O": 0, "B-PER": 1}')
    return numbers


def locked_sidecar(target: Target, name: str) -> Path:
    """Return the path of an output's sidecar, and lock its folder until the output is complete.

    Other writers to the folder wait, so they neither read an old sidecar nor overwrite the new one.
    """
    path = target.path.with_name(name)
    target.outputs.hold(path.resolve().parent)
    return path


def append_names(target: Target, path: Path, names: Iterable[str]) -> None:
    """Append names to a list of names."""
    old = Source(path).text() if path.exists() else ""
    end = "\n" if old and not old.endswith("\n") else ""
    write_sidecar(target, path, old + end + "".join(f"{name}\n" for name in names))


def write_sidecar(target: Target, path: Path, content: str) -> None:
    """Write or replace a sidecar. Names are only ever added, so older data files stay valid."""
    if str(target.path) == STDOUT:
        raise InputError(f"this format also needs {path.name} and cannot go to standard output", hint="name a file")
    target.outputs.open(path, replace=True).write(content.encode())
