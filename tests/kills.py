"""Kill a child process with SIGKILL before each of its changes to the file system."""

from __future__ import annotations

import io
import os
import signal
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHANGES = (
    "chmod",
    "fsync",
    "link",
    "mkdir",
    "open",
    "remove",
    "rename",
    "replace",
    "rmdir",
    "symlink",
    "unlink",
    "write",
)


def killed_at_each_step(prepare: Callable[[], Path], act: Callable[[Path], object]) -> Iterator[Path]:
    """Yield what `act` leaves when it is killed before its first change, its second, and so on.

    Args:
        prepare: creates the files that are there before, in a new folder, and returns the folder.
        act: changes files in this folder; runs in a child process.
    """
    for step in count(1):
        folder = prepare()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _kill_before(step)
                act(folder)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL), f"the child process failed at step {step}"
        yield folder
        if code == 0:
            assert step > 3, "the child process changed nothing"
            return


def content(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _kill_before(step: int) -> None:
    """Kill this process before its change number `step`."""
    steps = count(1)

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **options)

        return call

    for name in CHANGES:
        setattr(os, name, watched(getattr(os, name)))
    io.open = watched(io.open)  # type: ignore[assignment]
