"""Show the progress of training on standard error: a bar, or a line from time to time."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mproto.training.loop import Progress

LINE_EVERY = 25
"""Steps between two lines. During cross-fitting there are no evaluations."""


@contextmanager
def training_progress(*, lines: bool = False) -> Iterator[Callable[[Progress], object]]:
    """Yield a function that shows a training step; call it after every step.

    Of several processes that train together, only the first one (rank 0) shows anything.

    Args:
        lines: if standard error is not a terminal, print a line for each evaluation and every
            `LINE_EVERY` steps, instead of nothing.
    """
    if os.environ.get("RANK", "0") != "0":
        yield id
        return
    if not sys.stderr.isatty():
        yield _print_line if lines else id
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with Bar(*columns, TextColumn("{task.fields[state]}"), console=console, transient=True) as bar:
        task = bar.add_task("loading the encoder", total=None, state="")
        score = ""

        def show(progress: Progress) -> None:
            nonlocal score
            score = score if progress.score is None else f"  score {100 * progress.score:.2f}"
            state = f"loss {progress.loss:.3f}{score}  {_speed(progress)} words/s"
            bar.update(task, description="training", completed=progress.step, total=progress.steps, state=state)
            if progress.step == progress.steps:
                bar.update(task, description="finishing", state="")

        yield show


def _print_line(progress: Progress) -> None:
    if progress.score is None and not progress.best and progress.step % LINE_EVERY:
        return
    figures = {"loss": f"{progress.loss:.4f}"}
    if progress.score is not None:
        figures["score"] = f"{100 * progress.score:.2f}" + " (best)" * progress.best
    if "kept" in progress.logs:
        figures["O words used"] = f"{100 * progress.logs['kept']:.1f} %"
    figures["words/s"] = _speed(progress)
    figures["memory"] = f"{progress.memory:,} MB"
    text = "  ".join(f"{name} {value}" for name, value in figures.items())
    sys.stderr.write(f"step {progress.step:,} of {progress.steps:,}  {text}\n")


def _speed(progress: Progress) -> str:
    """Return the number of words per second of a step."""
    return f"{progress.words / max(progress.seconds, 1e-9):,.0f}"
