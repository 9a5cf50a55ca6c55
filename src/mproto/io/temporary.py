"""Temporary files and folders next to an output.

Each is locked while its writer is running. The lock distinguishes files that are being written from
leftovers of killed writers.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from mproto.io.locks import try_lock, unlock

SUFFIX = ".partial"
_TEMPORARY_NAME = re.compile(rf"\..*[a-z0-9_]{{8}}{re.escape(SUFFIX)}", re.DOTALL)


def make_temporary(path: Path, *, is_folder: bool = False) -> tuple[Path, int | None]:
    """Create a temporary file or folder next to a path; return it and the handle of its lock.

    Raises:
        OSError: it cannot be created.
    """
    while True:
        if is_folder:
            temporary = Path(tempfile.mkdtemp(prefix=_prefix(path), suffix=SUFFIX, dir=path.parent))
        else:
            handle, name = tempfile.mkstemp(prefix=_prefix(path), suffix=SUFFIX, dir=path.parent)
            os.close(handle)
            temporary = Path(name)
        try:
            lock = try_lock(temporary)
        except (BlockingIOError, FileNotFoundError):  # another process mistook it for a leftover before it was locked
            continue
        except OSError:  # a file system without locks
            return temporary, None
        if temporary.exists():
            return temporary, lock
        unlock(lock)


def clear_leftovers(path: Path) -> None:
    """Remove the temporary files that killed writers of this path left behind.

    Those of running writers are kept.
    """
    leftover = re.compile(rf"{re.escape(_prefix(path))}[a-z0-9_]{{8}}{re.escape(SUFFIX)}")
    with suppress(OSError):
        for file in [file for file in path.parent.iterdir() if leftover.fullmatch(file.name)]:
            _remove_unlocked(file)


def is_temporary(name: str) -> bool:
    """Return whether this is the name of a temporary file or folder, for any output."""
    return bool(_TEMPORARY_NAME.fullmatch(name))


def delete_folder(folder: Path, path: Path) -> None:
    """Delete a folder that has been replaced by `path`.

    The folder is first renamed to a temporary name of that path, so that a half-deleted folder cannot
    be mistaken for a complete one.

    Raises:
        OSError: it cannot be renamed.
    """
    temporary = path.parent / f"{_prefix(path)}{secrets.token_hex(4)}{SUFFIX}"
    folder.rename(temporary)
    shutil.rmtree(temporary, ignore_errors=True)


def remove(temporary: Path) -> None:
    """Remove a file or folder if it exists."""
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)


def _prefix(path: Path) -> str:
    return f".{path.name[:100]}."


def _remove_unlocked(path: Path) -> None:
    with suppress(OSError):  # its writer is running, or it belongs to another user
        lock = try_lock(path)
        if lock is not None:
            try:
                remove(path)
            finally:
                unlock(lock)
        elif not path.is_dir():  # Windows does not delete open files, but it cannot tell whether a folder is in use
            path.unlink()
