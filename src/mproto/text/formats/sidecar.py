"""Small files that lie beside the data and name its labels; files of one folder share them."""

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
    """Names in a text file, one a line (`types.txt`), or `None` where there is no such file."""
    if not path.exists():
        return None
    return [name for _, line in source.beside(path).lines() if (name := line.strip()) and name != "O"]


def read_numbers(source: Source, path: Path) -> dict[str, int] | None:
    """Names with their numbers in a JSON file (`tag_to_id.json`), or `None` where there is no such file."""
    if not path.exists():
        return None
    beside = source.beside(path)
    try:
        numbers = json.loads(beside.text())
    except (ValueError, RecursionError) as error:
        raise beside.error(f"is not valid JSON ({error})", hint="correct it") from None
    if not isinstance(numbers, dict) or not all(isinstance(number, int) for number in numbers.values()):
        raise beside.error("must be one JSON object of names and numbers", hint='for example {"O": 0, "B-PER": 1}')
    return numbers


def shared(target: Target, name: str) -> Path:
    """A sidecar of an output; nobody else who writes into its folder reads or changes it until the output is there."""
    path = target.path.with_name(name)
    target.outputs.hold(path.resolve().parent)
    return path


def add_names(target: Target, path: Path, names: Iterable[str]) -> None:
    """Add to a list of names, behind what stands there."""
    old = Source(path).text() if path.exists() else ""
    end = "\n" if old and not old.endswith("\n") else ""
    write_beside(target, path, old + end + "".join(f"{name}\n" for name in names))


def write_beside(target: Target, path: Path, content: str) -> None:
    """Write a sidecar of an output, anew where it exists: it only ever grows, so what older files say stays true."""
    if str(target.path) == STDOUT:
        raise InputError(
            f"this format needs {path.name} beside it and cannot go to standard output", hint="name a file"
        )
    target.outputs.open(path, replace=True).write(content.encode())
