"""Locks on files and folders. The system releases them when their process ends, however it ends.

On systems without such locks (Windows, some network drives), nothing is locked.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from pathlib import Path


def try_lock(path: Path) -> int | None:
    """Lock a file or folder without waiting; return the handle that holds the lock.

    Raises:
        BlockingIOError: another process or thread has locked it.
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


def wait_for_lock(folder: Path) -> int | None:
    """Wait until a folder is unlocked, and lock it; return the handle that holds the lock.

    Raises:
        OSError: the folder cannot be opened.
    """
    handle = None
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            os.close(handle)
            return None
        if not _is_at(handle, folder):  # another folder has replaced it in the meantime
            unlock(handle)
            return wait_for_lock(folder)
    return handle


def unlock(handle: int | None) -> None:
    """Release a lock, even if a child process has inherited the handle."""
    if handle is not None:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
