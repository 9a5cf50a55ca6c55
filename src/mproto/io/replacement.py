"""Replace a folder atomically.

The old folder gets a temporary name, the new one gets the final name, and the old one is deleted.

Between the two renames there is no folder with the final name. If the process is killed there,
`recover` restores the old folder. If it is killed later, `recover` deletes the rest of the old one.
A running writer holds a lock on the old folder, and `recover` waits for it.
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
    """Return the name that a folder has while it is being replaced."""
    name = path.name.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(name).hexdigest()[:8]  # the name itself may be too long to be extended
    return path.parent / f".{path.name[:40]}.{digest}.replaced"


def recover(path: Path) -> None:
    """Finish or undo an interrupted replacement of this folder.

    Raises:
        OSError: the old folder can be neither moved nor deleted.
    """
    old = old_folder(path)
    if not old.is_dir():
        return
    try:
        lock = wait_for_lock(old)
    except FileNotFoundError:  # its writer was running, and has finished
        return
    try:
        if old.is_dir() and (path.exists() or not _move(old, path)):
            delete_folder(old, path)
    finally:
        unlock(lock)


def put_in_place(new: Path, path: Path) -> None:
    """Rename a complete folder to its final name; delete an older folder of that name.

    Raises:
        OSError: it cannot be moved; the old folder is unchanged.
    """
    while not _put_in_place(new, path):
        pass
    sync(path.parent)


def _put_in_place(new: Path, path: Path) -> bool:
    """Try to put the folder in place; return whether this succeeded.

    It may fail while another process writes the same folder, and must then be tried again.
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
    """Rename a folder; return whether this succeeded, which requires that the name is free."""
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
        return  # folders cannot be opened there
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
