"""Output of the commands: text, JSON, notes and progress."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console

    from mproto.errors import Notes


def stdout() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """Print a JSON object on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def output_name(output: Path) -> str:
    """Return the name of an output for messages; `-` is standard output."""
    return "standard output" if str(output) == "-" else str(output)


def print_notes(notes: Notes) -> None:
    """Print the counts of changes, losses and skipped records on standard error."""
    for message in notes.messages():
        sys.stderr.write(f"note: {message}\n")
    if notes.rejected:
        first = f"; the first {len(notes.first_errors)}" if notes.rejected > len(notes.first_errors) else ""
        sys.stderr.write(f"skipped {notes.rejected:,} wrong records{first}:\n")
        for error in notes.first_errors:
            sys.stderr.write(f"  {error}\n")


def notes_as_dict(notes: Notes) -> dict[str, Any]:
    return {"notes": dict(notes.counts), "skipped": notes.rejected, "errors": [str(e) for e in notes.first_errors]}


@contextmanager
def progress(what: str, path: Path, *, prints: bool = False) -> Iterator[Callable[[int], object] | None]:
    """Show a bar that counts the bytes of a file, on a terminal and for regular files only.

    Args:
        what: the label of the bar.
        path: the file.
        prints: whether the result goes to standard output. If that is a terminal, no bar is shown.
    """
    if not _has_room(prints) or not path.is_file():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=stderr(), transient=True) as bar:
        task = bar.add_task(what, total=path.stat().st_size)
        yield lambda count: bar.advance(task, count)


@contextmanager
def counting(what: str, path: Path, *, prints: bool = False) -> Iterator[Callable[[], object] | None]:
    """Show the number of documents and the speed, on a terminal, for folders and pipes."""
    if not _has_room(prints) or path.is_file() or (str(path) == "-" and sys.stdin.isatty()):
        yield None
        return
    done, start = 0, time.monotonic()

    def count() -> None:
        nonlocal done
        done += 1
        speed = done / max(time.monotonic() - start, 1e-9)
        status.update(f"{what}  {done:,} documents  {speed:,.0f} documents/s")

    with stderr().status(what) as status:
        yield count


def _has_room(prints: bool) -> bool:
    """Return whether a progress line can be shown without mixing with printed results."""
    return sys.stderr.isatty() and not (prints and sys.stdout.isatty())


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a status line while something takes time; only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with stderr().status(what):
        yield
