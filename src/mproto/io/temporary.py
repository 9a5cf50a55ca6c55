"""Temporary names beside an output: locked while their writer lives, so that those of dead writers can be told, and go."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

SUFFIX = ".partial"


def make_partial(path: Path, *, is_folder: bool = False) -> tuple[Path, int | None]:
    """A new file or folder to write before it gets its name, and the lock on it, a handle to be closed when it has it.

    Where there are no such locks (Windows, some network drives), nothing is locked.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        if is_folder:
            temporary = Path(tempfile.mkdtemp(prefix=_prefix(path), suffix=SUFFIX, dir=path.parent))
        else:
            handle, name = tempfile.mkstemp(prefix=_prefix(path), suffix=SUFFIX, dir=path.parent)
            os.close(handle)
            temporary = Path(name)
        try:
            lock = _lock(temporary)
        except (BlockingIOError, FileNotFoundError):  # somebody took it for a dead one before it was locked
            continue
        except OSError:
            return temporary, None
        if temporary.exists():
            return temporary, lock
        if lock is not None:
            os.close(lock)


def clear_partials(path: Path) -> None:
    """Remove what writers of this path have left who are dead; what a living one writes is not touched."""
    dead = re.compile(rf"{re.escape(_prefix(path))}[a-z0-9_]{{8}}{re.escape(SUFFIX)}")
    with suppress(OSError):
        for found in [found for found in path.parent.iterdir() if dead.fullmatch(found.name)]:
            _clear(found)


def remove(temporary: Path) -> None:
    """A file or a folder that may be gone already."""
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)


def _prefix(path: Path) -> str:
    return f".{path.name[:100]}."


def _clear(found: Path) -> None:
    with suppress(OSError):  # its writer lives, or it is not ours
        lock = _lock(found)
        if lock is not None:
            try:
                remove(found)
            finally:
                os.close(lock)
        elif not found.is_dir():  # Windows: it removes no file that is open, but of folders one cannot tell
            found.unlink()


def _lock(path: Path) -> int | None:
    """A handle that holds the lock on a file or folder; the system lets go of it when the process ends, however it ends.

    Raises:
        BlockingIOError: somebody else holds it.
        OSError: it cannot be locked.
    """
    handle = None
    if sys.platform != "win32":
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise
    return handle
