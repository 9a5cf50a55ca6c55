"""Replace a folder atomically.

The old folder is renamed aside, the new one is renamed into its place, and the old one is deleted.

Between the two renames there is no folder of that name. When the process is killed there, `recover`
puts the old folder back. When it is killed later, `recover` deletes what is left of the old one. A
living writer holds a lock on the folder that it renamed aside, and `recover` waits for it.
"""

from __future__ import annotations

import errno
import hashlib
import os
from typing import TYPE_CHECKING

from mproto.io.locks import unlock, wait_for_lock
from mproto.io.temporary import delete_folder

if TYPE_CHECKING:
    from pathlib import Path

_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}
_FEW_FILES = 100


def old_folder(path: Path) -> Path:
    """Return the name that a folder has while another one takes its place."""
    name = path.name.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(name).hexdigest()[:8]  # the name itself may be too long to be extended
    return path.parent / f".{path.name[:40]}.{digest}.replaced"


def recover(path: Path) -> None:
    """Finish or undo an interrupted replacement of this folder.

    Raises:
        OSError: what is left of it can be neither moved nor deleted.
    """
    old = old_folder(path)
    if not old.is_dir():
        return
    try:
        lock = wait_for_lock(old)
    except FileNotFoundError:  # its writer lived, and has finished
        return
    try:
        if old.is_dir() and (path.exists() or not _move(old, path)):
            delete_folder(old, path)
    finally:
        unlock(lock)


def put_in_place(new: Path, path: Path) -> None:
    """Rename a complete folder to its final name, and delete the one that has this name now.

    Raises:
        OSError: it cannot be moved; the old folder is where it was.
    """
    while not _put_in_place(new, path):
        pass
    sync(path.parent)


def _put_in_place(new: Path, path: Path) -> bool:
    """Return whether it succeeded.

    When another process writes the same folder, it may have to be tried again.
    """
    recover(path)
    if _move(new, path):
        return True
    try:
        lock = wait_for_lock(path)
    except FileNotFoundError:
        return False
    try:
        old = old_folder(path)
        try:
            if not _move(path, old):
                return False
        except FileNotFoundError:
            return False
        try:
            is_done = _move(new, path)
        except OSError:
            _move(old, path)
            raise
        sync(path.parent)
        delete_folder(old, path)
        return is_done
    finally:
        unlock(lock)


def _move(source: Path, target: Path) -> bool:
    """Rename a folder, and return whether the name was free."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno in _TAKEN and not target.is_file():
            return False
        raise
    return True


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name != "posix":
        return  # where folders cannot be opened
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(folder: Path) -> None:
    """Wait until a folder and everything in it are on the disk."""
    paths = [folder, *folder.rglob("*")]
    if len(paths) > _FEW_FILES and hasattr(os, "sync"):
        os.sync()  # waiting for each of many files takes much longer
        return
    for path in paths:
        if path.is_file() or path.is_dir():
            sync(path)
