"""Write files and folders atomically: completed under a temporary name, then renamed.

A reader therefore sees either the old content or the new one, never a part of it, even if the
writer is killed.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.io.locks import unlock
from mproto.io.replacement import put_in_place, recover, sync, sync_all
from mproto.io.temporary import clear_leftovers, is_temporary, make_temporary, remove

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType
    from typing import Self


class Staged:
    """A temporary file or folder that is renamed when it is complete, and otherwise removed.

    Leftovers of killed writers of the same path are removed first.

    Args:
        path: the intended final name. The temporary file or folder is created next to it.
        is_folder: whether it is a folder.

    Attributes:
        path: the temporary name.

    Raises:
        OSError: it cannot be created.
    """

    def __init__(self, path: Path, *, is_folder: bool = False) -> None:
        clear_leftovers(path)
        self.path, self._lock = make_temporary(path, is_folder=is_folder)
        self._is_folder = is_folder
        try:
            self.path.chmod((0o777 if is_folder else 0o666) & ~_umask())
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove it unless it has been renamed, and release its lock."""
        remove(self.path)
        unlock(self._lock)
        self._lock = None

    def sync(self) -> None:
        """Wait until its content is on the disk."""
        sync_all(self.path) if self._is_folder else sync(self.path)

    def rename(self, path: Path, *, replace: bool = True) -> None:
        """Give it its final name.

        Args:
            path: the name.
            replace: whether to replace an existing file or folder of that name.

        Raises:
            FileExistsError: the name exists, and `replace` is false.
            OSError: it cannot be renamed; an existing file or folder is unchanged.
        """
        if self._is_folder:
            if not replace and path.is_dir():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
            if path.is_dir():
                self.sync()  # before the old folder is deleted
            put_in_place(self.path, path)
        elif replace:
            self.path.replace(path)
        else:
            try:
                os.link(self.path, path)  # fails if another process has just written the file
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                self.path.replace(path)


def write_file(path: Path, data: bytes) -> None:
    """Write a file, and wait until it is on the disk.

    Raises:
        OSError: it cannot be written; an older file is unchanged.
    """
    with Staged(path) as new:
        new.path.write_bytes(data)
        new.sync()
        new.rename(path)
    sync(path.parent)


@contextmanager
def atomic_folder(folder: Path, discard: Collection[str] = ()) -> Iterator[Path]:
    """Yield an empty folder to write files into; it replaces `folder` when the block ends.

    Files that only the old folder has are kept. If the block fails, the old folder is unchanged.

    A folder that cannot be renamed (a mount point, the current directory, or a folder inside a
    read-only one) stays where it is, and its files are replaced one by one. This is not atomic: if
    the process is killed in between, only some of the files are new.

    Args:
        folder: the folder to write; created if it does not exist.
        discard: names of files of the old folder that are deleted.

    Raises:
        OSError: it cannot be written.
    """
    folder = folder.resolve()  # a link is followed and not replaced
    folder.parent.mkdir(parents=True, exist_ok=True)
    recover(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if folder.exists() and not _can_be_renamed(folder):
        with _files_replaced(folder, discard) as staging:
            yield staging
        return
    with Staged(folder, is_folder=True) as new:
        yield new.path
        if folder.is_dir():
            _keep_others(folder, new.path, discard)
        new.sync()
        put_in_place(new.path, folder)


def usual_permissions(path: Path) -> None:
    """Give a file the default permissions of new files.

    Some libraries write files that only their owner can read.
    """
    path.chmod(0o666 & ~_umask())


def _can_be_renamed(folder: Path) -> bool:
    """Return whether a folder can be renamed.

    It must not contain a mount point or the current directory, and its parent must be writable.
    """
    with suppress(FileNotFoundError):
        if Path.cwd().is_relative_to(folder):
            return False
    has_mount = any(os.path.ismount(path) for path in (folder, *folder.iterdir()))
    return os.access(folder.parent, os.W_OK | os.X_OK) and not has_mount


@contextmanager
def _files_replaced(folder: Path, discard: Collection[str]) -> Iterator[Path]:
    with Staged(folder / "files", is_folder=True) as new:
        yield new.path
        new.sync()
        written = list(new.path.iterdir())
        for file in written:
            file.replace(folder / file.name)
        for name in set(discard) - {file.name for file in written}:
            (folder / name).unlink(missing_ok=True)
    sync(folder)


def _keep_others(old: Path, new: Path, discard: Collection[str]) -> None:
    """Link the files that only the old folder has into the new one; copy them if links fail."""
    written = {path.name for path in new.iterdir()}
    for path in old.iterdir():
        if path.name in written or path.name in discard or is_temporary(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, new / path.name, symlinks=True, copy_function=_link)
        else:
            _link(path, new / path.name)
    shutil.copymode(old, new)


def _link(source: Path | str, target: Path | str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):  # a system without links, or a file of another user
        shutil.copy2(source, target, follow_symlinks=False)
        if not os.path.islink(target):  # noqa: PTH114 (`copytree` gives strings)
            sync(Path(target))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
