"""The output files of one command: either all of them are written, or none.

Existing files are replaced only on request.
"""

from __future__ import annotations

import gzip
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from mproto.errors import InputError, MprotoError
from mproto.io.atomic import Staged
from mproto.io.locks import unlock, wait_for_lock
from mproto.io.replacement import recover

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from mproto.io.sources import Source

STDOUT = "-"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class _Pending(NamedTuple):
    staged: Staged
    path: Path
    replace: bool


class Outputs:
    """The output files of one command.

    They appear together when the block ends, or not at all if it fails.

    Files are written next to their destination under a temporary name, and renamed at the end.
    Devices and pipes are written directly, as is `-`, standard output.

    Args:
        force: replace existing files.
    """

    def __init__(self, *, force: bool = False) -> None:
        self.force = force
        self._pending: list[_Pending] = []
        self._discarded: list[Path] = []
        self._open: list[IO[bytes]] = []
        self._locks: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        path = None
        try:
            for stream in self._open:
                stream.close()
            if kind is None:
                for staged, path, replace in self._pending:
                    staged.rename(path, replace=replace)
                for path in self._discarded:
                    path.unlink(missing_ok=True)
        except FileExistsError:
            raise InputError("exists already: another process has just written it", path=path) from None
        except OSError as failure:
            if kind is None:
                raise MprotoError(f"cannot write {path or failure.filename or ''}: {failure.strerror}") from failure
        finally:
            for pending in self._pending:
                pending.staged.close()
            for handle in self._locks:
                unlock(handle)

    def hold(self, folder: Path) -> None:
        """Lock a folder until the block ends; wait if another process has locked it.

        Use this for files that are read, changed and written again. On systems without locks
        (Windows, some network drives), nothing is locked.
        """
        with suppress(OSError):  # if the folder does not exist, opening a file in it reports the error
            handle = wait_for_lock(folder)
            if handle is not None:
                self._locks.append(handle)

    def open(self, path: Path | str, *, replace: bool | None = None) -> IO[bytes]:
        """Open a new file for writing bytes, gzipped if its name ends in `.gz`.

        `replace` overrides `force`.
        """
        path = Path(path)
        if str(path) == STDOUT:
            return sys.stdout.buffer
        replace = self.force if replace is None else replace
        path = _target(path)
        _check(path, "file", replace=replace)
        stream: IO[bytes]
        try:
            if path.exists() and not path.is_file():
                stream = path.open("wb")
            else:
                staged = Staged(path)
                self._pending.append(_Pending(staged, path, replace))
                stream = staged.path.open("wb", buffering=1 << 16)
        except OSError as error:
            raise _cannot_write(path, error) from None
        self._open.append(stream)
        if path.suffix == ".gz":
            stream = cast("IO[bytes]", gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0))
            self._open.insert(0, stream)  # closed before the file below it
        return stream

    def discard(self, path: Path) -> None:
        """Delete a file of the older output when the new output appears."""
        if path.exists():
            _check(path, "file", replace=self.force)
            self._discarded.append(path)

    def folder(self, path: Path | str, replaceable: tuple[str, ...]) -> FolderWriter:
        """Create a folder to write files into.

        Args:
            path: its final name.
            replaceable: file suffixes. An existing folder is replaced only if each of its files has
                one of them.
        """
        path = Path(path)
        if str(path) == STDOUT:
            raise InputError("this format is a folder and cannot go to standard output", hint="name a folder")
        path = _target(path)
        try:
            recover(path)
            _check(path, "folder", replace=self.force, replaceable=replaceable)
            if path.exists() and Path.cwd().is_relative_to(path.resolve()):
                raise InputError("is the current directory, or contains it", path=path, hint="choose another output")
            staged = Staged(path, is_folder=True)
        except OSError as error:
            raise _cannot_write(path, error) from None
        self._pending.append(_Pending(staged, path, self.force))
        return FolderWriter(staged.path)


class FolderWriter:
    """A folder that is being written, one small file after another.

    Attributes:
        path: its temporary name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._prefix = f"{path}{os.sep}"

    def write(self, name: str, data: bytes) -> None:
        """Write a file.

        Plain system calls are fast enough for corpora of tens of thousands of files.
        """
        handle = os.open(self._prefix + name, _NEW_FILE, 0o666)
        try:
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)


def check_apart(source: Source, output: Path, *, is_folder: bool = False) -> None:
    """Check that the output is neither the input nor a folder that contains it.

    Raises:
        InputError: writing would destroy the input.
    """
    try:
        if source.is_pipe or not output.exists():
            return
    except OSError:  # the path is invalid; opening it reports the error
        return
    origin, target = source.path.resolve(), output.resolve()
    if origin == target or (is_folder and target in origin.parents):
        raise source.error("is both input and output, or is inside the output", hint="choose another output")


def _target(path: Path) -> Path:
    """Follow a link: its target is replaced, not the link."""
    try:
        return path.resolve() if path.is_symlink() else path
    except OSError as error:
        raise _cannot_write(path, error) from None


def _check(path: Path, kind: str, *, replace: bool, replaceable: tuple[str, ...] = ()) -> None:
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", path=path, hint="create it first")
    try:
        mode = path.stat().st_mode  # once, since another process may be replacing it
    except (FileNotFoundError, NotADirectoryError):
        return
    is_folder = stat.S_ISDIR(mode)
    if is_folder != (kind == "folder"):
        found = "a folder" if is_folder else "a file"
        raise InputError(f"is {found}, but the output is a {kind}", path=path, hint="choose another output")
    if is_folder or stat.S_ISREG(mode):
        if not replace:
            raise InputError("exists already", path=path, hint="choose another output or pass --force")
        if is_folder and (other := _other_file(path, replaceable)):
            raise InputError(
                f"contains {other}, which this command did not write", path=path, hint="choose another output"
            )


def _other_file(folder: Path, suffixes: tuple[str, ...]) -> str | None:
    """Return the name of a file that has none of these suffixes, if there is one."""
    try:
        return next((path.name for path in folder.iterdir() if path.suffix not in suffixes), None)
    except FileNotFoundError:  # another process is replacing it
        return None


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be written ({error.strerror})", path=path, hint="choose another output")
