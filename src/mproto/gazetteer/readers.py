"""Term lists from files. Every entry remembers its file and line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.inputs import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """A term: its surface form, its type, and the place it came from."""

    surface: str
    type: str
    file: str = ""
    line: int = 0


def read_entries(path: Path, type_: str | None = None) -> Iterator[Entry]:
    """Entries of a folder of `TYPE.txt` files, or of one file, whose type is given or else its name."""
    if not path.is_dir():
        yield from _read_terms(path, type_ or path.name.split(".")[0])
        return
    files = sorted(path.glob("*.txt"))
    if not files:
        raise InputError("holds no .txt file", path=path, hint="a gazetteer folder has one TYPE.txt for each type")
    for file in files:
        yield from _read_terms(file, file.stem)


def _read_terms(path: Path, type_: str) -> Iterator[Entry]:
    """Entries of a text file, one a line; blank lines are skipped."""
    found = False
    for number, line in Source(path).lines():
        if "\0" in line:
            raise InputError("is binary, not a list of terms", path=path, line=number, hint="name a text file")
        if surface := line.strip():
            found = True
            yield Entry(surface, type_, str(path), number)
    if not found:
        raise InputError("holds no term", path=path, hint="write one term a line")
