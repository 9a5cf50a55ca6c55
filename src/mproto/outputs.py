"""Writing files: whole or not at all, and never over something that is already there."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from mproto.errors import InputError, MprotoError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class Outputs:
    """The files of one piece of work: they appear together when the block ends, or not at all when it fails.

    Everything is written beside its destination under a temporary name and renamed at the end. `-` is standard output.

    Args:
        force: replace what exists.
    """

    def __init__(self, *, force: bool = False) -> None:
        self.force = force
        self._staged: list[tuple[Path, Path]] = []
        self._open: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            for stream in self._open:
                stream.close()
            if kind is None:
                for temporary, path in self._staged:
                    _put_in_place(temporary, path)
        except OSError as failure:
            raise MprotoError(f"cannot write {failure.filename}: {failure.strerror}") from failure
        finally:
            for temporary, _ in self._staged:
                _remove(temporary)

    def open(self, path: Path | str) -> IO[bytes]:
        """A new file, open for writing bytes; gzipped where its name ends in `.gz`."""
        path = Path(path)
        if str(path) == "-":
            return sys.stdout.buffer
        self._check(path, "file")
        try:
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
        except OSError as error:
            raise InputError(f"cannot write here ({error.strerror})", path=path, hint="choose another output") from None
        Path(name).chmod(0o666 & ~_umask())
        self._staged.append((Path(name), path))
        stream: IO[bytes] = os.fdopen(handle, "wb", buffering=1 << 16)
        self._open.append(stream)
        if path.suffix == ".gz":
            stream = cast("IO[bytes]", gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0))
            self._open.insert(0, stream)  # closed before the file below it
        return stream

    def folder(self, path: Path | str, replaceable: tuple[str, ...]) -> Folder:
        """A new folder to write files into. An old one is replaced only if all it holds are files with these suffixes."""
        path = Path(path)
        if str(path) == "-":
            raise InputError("this format is a folder and cannot go to standard output", hint="name a folder")
        self._check(path, "folder", replaceable)
        try:
            temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
        except OSError as error:
            raise InputError(f"cannot write here ({error.strerror})", path=path, hint="choose another output") from None
        temporary.chmod(0o777 & ~_umask())
        self._staged.append((temporary, path))
        return Folder(temporary)

    def _check(self, path: Path, kind: str, replaceable: tuple[str, ...] = ()) -> None:
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} does not exist", path=path, hint="create it first")
        if not path.exists():
            return
        if path.is_dir() != (kind == "folder"):
            there = "a folder" if path.is_dir() else "a file"
            raise InputError(f"is {there}, and a {kind} is to be written", path=path, hint="choose another output")
        if not self.force:
            raise InputError("exists already", path=path, hint="choose another output or pass --force")
        if path.is_dir() and (other := next((f for f in path.iterdir() if f.suffix not in replaceable), None)):
            raise InputError(
                f"holds {other.name}, which this command did not write", path=path, hint="choose another output"
            )


class Folder:
    """A folder that is being written, one small file after another."""

    def __init__(self, path: Path) -> None:
        self._prefix = f"{path}{os.sep}"

    def write(self, name: str, data: bytes) -> None:
        """A whole file at once. Plain system calls: corpora of a file a document have tens of thousands."""
        handle = os.open(self._prefix + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)


def _put_in_place(temporary: Path, path: Path) -> None:
    if path.is_dir():
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
        path.rename(old / path.name)
        temporary.rename(path)
        shutil.rmtree(old)
    else:
        temporary.replace(path)


def _remove(temporary: Path) -> None:
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
