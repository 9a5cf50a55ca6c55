"""Writing files: whole or not at all, and never over something that is already there."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from mproto.errors import InputError, MprotoError
from mproto.io.temporary import clear_partials, make_partial, remove

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from mproto.io.sources import Source

STDOUT = "-"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class _Staged(NamedTuple):
    temporary: Path
    path: Path
    replace: bool


class Outputs:
    """The files of one piece of work: they appear together when the block ends, or not at all when it fails.

    Everything is written beside its destination under a temporary name and moved there at the end. Devices and pipes are
    written straight away, and so is `-`, standard output.

    Args:
        force: replace what exists.
    """

    def __init__(self, *, force: bool = False) -> None:
        self.force = force
        self._staged: list[_Staged] = []
        self._discarded: list[Path] = []
        self._open: list[IO[bytes]] = []
        self._held: list[int] = []

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
                for temporary, path, replace in self._staged:
                    _put_in_place(temporary, path, replace=replace)
                for path in self._discarded:
                    path.unlink(missing_ok=True)
        except FileExistsError:
            raise InputError("exists already: somebody else has just written it", path=path) from None
        except OSError as failure:
            if kind is None:
                raise MprotoError(f"cannot write {path or failure.filename or ''}: {failure.strerror}") from failure
        finally:
            for temporary, _, _ in self._staged:
                remove(temporary)
            for handle in self._held:
                os.close(handle)

    def hold(self, folder: Path) -> None:
        """Wait until nobody else holds this folder, and let others wait until the block ends.

        For what is read, added to and written again. Where there are no such locks (Windows, some network drives),
        nothing is held.
        """
        if sys.platform != "win32":
            with suppress(OSError):  # a folder that is not there is an error for whoever opens a file in it
                self._held.append(os.open(folder, os.O_RDONLY))
                fcntl.flock(self._held[-1], fcntl.LOCK_EX)

    def open(self, path: Path | str, *, replace: bool | None = None) -> IO[bytes]:
        """A new file, open for writing bytes; gzipped where its name ends in `.gz`. `replace` overrides `force`."""
        path = Path(path)
        if str(path) == STDOUT:
            return sys.stdout.buffer
        replace = self.force if replace is None else replace
        path = _real(path)
        _check(path, "file", replace=replace)
        stream: IO[bytes]
        try:
            if path.exists() and not path.is_file():
                stream = path.open("wb")
            else:
                temporary = self._stage(path, replace=replace)
                usual_permissions(temporary)
                stream = temporary.open("wb", buffering=1 << 16)
        except OSError as error:
            raise _cannot_write(path, error) from None
        self._open.append(stream)
        if path.suffix == ".gz":
            stream = cast("IO[bytes]", gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0))
            self._open.insert(0, stream)  # closed before the file below it
        return stream

    def discard(self, path: Path) -> None:
        """A file of an older output that the new one does not have; it goes when the new one comes."""
        if path.exists():
            _check(path, "file", replace=self.force)
            self._discarded.append(path)

    def folder(self, path: Path | str, replaceable: tuple[str, ...]) -> Folder:
        """A new folder to write files into. An old one is replaced only if all it holds are files with these suffixes."""
        path = Path(path)
        if str(path) == STDOUT:
            raise InputError("this format is a folder and cannot go to standard output", hint="name a folder")
        path = _real(path)
        _check(path, "folder", replace=self.force, replaceable=replaceable)
        try:
            temporary = self._stage(path, replace=self.force, is_folder=True)
            temporary.chmod(0o777 & ~_umask())
        except OSError as error:
            raise _cannot_write(path, error) from None
        return Folder(temporary)

    def _stage(self, path: Path, *, replace: bool, is_folder: bool = False) -> Path:
        """A temporary file or folder that gets its name at the end. What was left by work that was killed goes first."""
        clear_partials(path)
        temporary, lock = make_partial(path, is_folder=is_folder)
        self._staged.append(_Staged(temporary, path, replace))
        if lock is not None:
            self._held.append(lock)
        return temporary


class Folder:
    """A folder that is being written, one small file after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._prefix = f"{path}{os.sep}"

    def write(self, name: str, data: bytes) -> None:
        """A whole file at once. Plain system calls: corpora of a file a document have tens of thousands."""
        handle = os.open(self._prefix + name, _NEW_FILE, 0o666)
        try:
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)


@contextmanager
def filled(folder: Path, discarded: tuple[str, ...] = ()) -> Iterator[Path]:
    """A folder for libraries that write several files themselves, which then go into another one, over those of their names.

    They come there together when the block ends, or not at all when it fails; what else is there stays.

    Args:
        folder: made where it is not there.
        discarded: names of files that go where the new output does not have them.

    Raises:
        OSError: something cannot be written.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".", suffix=".partial", dir=folder))
    try:
        yield place
        written = {file.name: file for file in place.iterdir()}
        for name, file in written.items():
            file.replace(folder / name)
        for name in set(discarded) - set(written):
            (folder / name).unlink(missing_ok=True)
        is_new = False
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # somebody else may have put something there
                folder.rmdir()


def check_apart(source: Source, output: Path, *, is_folder: bool = False) -> None:
    """Refuse an output that is the input, or a folder around it.

    Raises:
        InputError: writing would destroy what is being read.
    """
    try:
        if source.is_pipe or not output.exists():
            return
    except OSError:  # it cannot be, and whoever opens it will say why
        return
    place, target = source.path.resolve(), output.resolve()
    if place == target or (is_folder and target in place.parents):
        raise source.error("is both input and output, or lies in it", hint="choose another output")


def usual_permissions(path: Path) -> None:
    """Let others read a file as they may read any new one; some libraries write files that only their owner can read."""
    path.chmod(0o666 & ~_umask())


def _real(path: Path) -> Path:
    """The file that a link points to: links are followed, not replaced."""
    try:
        return path.resolve() if path.is_symlink() else path
    except OSError as error:
        raise _cannot_write(path, error) from None


def _check(path: Path, kind: str, *, replace: bool, replaceable: tuple[str, ...] = ()) -> None:
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", path=path, hint="create it first")
    if not path.exists():
        return
    if path.is_dir() != (kind == "folder"):
        found = "a folder" if path.is_dir() else "a file"
        raise InputError(f"is {found}, and a {kind} is to be written", path=path, hint="choose another output")
    if path.is_file() or path.is_dir():
        if not replace:
            raise InputError("exists already", path=path, hint="choose another output or pass --force")
        if path.is_dir() and (other := next((f for f in path.iterdir() if f.suffix not in replaceable), None)):
            raise InputError(
                f"holds {other.name}, which this command did not write", path=path, hint="choose another output"
            )


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be written ({error.strerror})", path=path, hint="choose another output")


def _put_in_place(temporary: Path, path: Path, *, replace: bool) -> None:
    if path.is_dir():
        if not replace:
            raise FileExistsError
        old = Path(tempfile.mkdtemp(prefix=f".{path.name[:100]}.", suffix=".old", dir=path.parent))
        path.rename(old / path.name)
        temporary.rename(path)
        shutil.rmtree(old)
    elif replace or temporary.is_dir():
        temporary.replace(path)
    else:
        try:
            os.link(temporary, path)  # fails where a file has come to be there meanwhile
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            temporary.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
