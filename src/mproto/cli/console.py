"""What commands share: where text, JSON, warnings and progress go."""

from __future__ import annotations

import json
import os
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
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def print_notes(notes: Notes) -> None:
    """What was changed, lost or left out, on standard error."""
    for message in notes.messages():
        sys.stderr.write(f"note: {message}\n")
    if notes.rejected:
        shown = f" (the first {len(notes.first_errors)}:)" if notes.rejected > len(notes.first_errors) else ":"
        sys.stderr.write(f"skipped {notes.rejected:,} wrong records{shown}\n")
        for error in notes.first_errors:
            sys.stderr.write(f"  {error}\n")


def notes_as_dict(notes: Notes) -> dict[str, Any]:
    return {"notes": dict(notes.counts), "skipped": notes.rejected, "errors": [str(e) for e in notes.first_errors]}


@contextmanager
def progress(what: str, path: Path, *, prints: bool = False) -> Iterator[Callable[[int], object] | None]:
    """A bar that counts the bytes of a file, on a terminal; nothing elsewhere, nor where the size is not known.

    Args:
        what: is being done.
        path: of the file.
        prints: whether what comes out is printed on standard output; on a terminal that is progress enough.
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
    """How many documents are done and how fast, on a terminal, where `progress` shows nothing: for folders and pipes."""
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
    """Whether a line that changes can be shown, and would not stand among what is printed."""
    return sys.stderr.isatty() and not (prints and sys.stdout.isatty())


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A word on what takes its time, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    with stderr().status(what):
        yield


@contextmanager
def training_progress() -> Iterator[Callable[[Any], object]]:
    """A bar that counts training steps, on a terminal; elsewhere a line for each evaluation."""
    if os.environ.get("RANK", "0") != "0":  # of several processes that train together, the first one speaks
        yield id
        return
    if not sys.stderr.isatty():
        yield _print_evaluation
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[state]}"), console=stderr(), transient=True) as bar:
        task = bar.add_task("loading the encoder", total=None, state="")
        score = ""

        def show(progress: Any) -> None:
            nonlocal score
            score = score if progress.score is None else f"  score {100 * progress.score:.2f}"
            speed = progress.words / max(progress.seconds, 1e-9)
            state = f"loss {progress.loss:.3f}{score}  {speed:,.0f} words/s"
            bar.update(task, description="training", completed=progress.step, total=progress.steps, state=state)
            if progress.step == progress.steps:
                bar.update(task, description="looking into the run", state="")

        yield show


def _print_evaluation(progress: Any) -> None:
    if progress.score is None and not progress.best:
        return
    figures = {"loss": f"{progress.loss:.4f}"}
    if progress.score is not None:
        figures["score"] = f"{100 * progress.score:.2f}" + " (best)" * progress.best
    if "kept" in progress.logs:
        figures["kept"] = f"{100 * progress.logs['kept']:.1f} %"
    figures["words/s"] = f"{progress.words / max(progress.seconds, 1e-9):,.0f}"
    figures["memory"] = f"{progress.memory:,} MB"
    shown = "  ".join(f"{name} {value}" for name, value in figures.items())
    sys.stderr.write(f"step {progress.step:,} of {progress.steps:,}  {shown}\n")
