"""Read files as streams: gzipped or not, with or without a byte order mark, with any line ends."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import sys
import zlib
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar, cast

from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    OnBytes = Callable[[int], object]

T = TypeVar("T")

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 1 << 20
"""The number of bytes at the start of a file that are used to detect its format."""
PIPE_HEAD_BYTES = 1 << 16
"""The same for pipes, which may deliver data slowly."""

_DAMAGE = (EOFError, OSError, zlib.error)
_ENCODING_HINT = "save the file as UTF-8 (for example with iconv -f WINDOWS-1252 -t UTF-8)"


class Source:
    """One input: a file, gzipped or not, a folder, a pipe, or `-` for standard input.

    Args:
        path: its path.
        notes: counts wrong records and losses.
        on_bytes: called with the number of bytes of every chunk that is read from the disk, for a
            progress bar.

    Attributes:
        line: the first line of the last record, for errors that are found later; some
            formats do not set it.
    """

    def __init__(self, path: Path | str, notes: Notes | None = None, on_bytes: OnBytes | None = None) -> None:
        self._given_path = os.fspath(path) or os.curdir
        self.notes = notes or Notes()
        self._on_bytes = on_bytes
        self._pipe: _Pipe | None = None
        self.line: int | None = None

    @cached_property
    def path(self) -> Path:
        """The path.

        It is parsed on first use, since folders may hold tens of thousands of files.
        """
        return Path(self._given_path)

    @property
    def is_stdin(self) -> bool:
        return self._given_path == "-"

    @property
    def is_folder(self) -> bool:
        return not self.is_stdin and self.path.is_dir()

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once, such as standard input or a named pipe."""
        if self.is_stdin:
            return True
        try:
            mode = self.path.stat().st_mode
        except OSError:
            return False
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)

    @property
    def suffix(self) -> str:
        """The suffix in lower case; if it is `.gz`, the suffix before it."""
        path = self.path.with_suffix("") if self.path.suffix.lower() == ".gz" else self.path
        return path.suffix.lower()

    @property
    def shown(self) -> Path | str:
        """Its name in messages."""
        return "standard input" if self.is_stdin else self.path

    def beside(self, path: Path | str) -> Source:
        """Return another file of the same input, with the same notes and progress."""
        return Source(path, self.notes, self._on_bytes)

    def error(self, message: str, line: int | None = None, hint: str | None = None) -> InputError:
        return InputError(message, path=self.shown, line=line, hint=hint)

    def open(self) -> IO[bytes]:
        """Open the file for reading bytes.

        Gzip is detected by content, not by name, and decompressed.
        """
        raw = io.BufferedReader(self._open_raw(), 1 << 16)
        if self.guard(lambda: raw.peek(2))[:2] == GZIP_MAGIC:
            return cast("IO[bytes]", _Gunzipped(raw))
        return raw

    def _open_raw(self) -> io.RawIOBase:
        if self.is_pipe:
            self._pipe = self._pipe or _Pipe(sys.stdin.buffer if self.is_stdin else self.path.open("rb", buffering=0))
            return self._pipe
        file = self._open_file()
        return _Counted(file, self._on_bytes) if self._on_bytes else file

    def _open_file(self) -> io.FileIO:
        try:
            return io.FileIO(self._given_path)
        except IsADirectoryError:
            raise self.error("is a folder where a file is expected", hint="name one of the files in it") from None
        except FileNotFoundError:
            raise self.error("no such file or folder", hint="check the path") from None
        except OSError as error:
            raise self.error(f"cannot be read ({error.strerror})", hint="check the path and its permissions") from None

    def head(self) -> bytes:
        """Return the first bytes, decompressed and without a byte order mark.

        Nothing is consumed.
        """
        if self.is_pipe:
            self._open_raw()
            data = cast("_Pipe", self._pipe).head
            if data[:2] == GZIP_MAGIC:
                data = self.guard(lambda: zlib.decompressobj(wbits=31).decompress(data))
        else:
            with Source(self.path).open() as stream:
                data = self.guard(lambda: stream.read(HEAD_BYTES))
        if not data:
            raise self.error("the file is empty", hint="check that it was written completely")
        return self._without_mark(data)

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield undecoded lines and their numbers from 1, without line ends and byte order mark."""
        with self.open() as stream:
            number = 0
            for number, line in enumerate(self._guarded(stream), 1):
                yield number, (line if number > 1 else self._without_mark(line)).rstrip(b"\r\n")
        if not number:
            raise self.error("the file is empty", hint="check that it was written completely")

    def decode(self, line: bytes, number: int) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            value = line[error.start : error.start + 1]
            position = f"byte {value!r} at column {error.start + 1}"
            raise self.error(f"{position} is not UTF-8", number, _ENCODING_HINT) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield decoded lines with their numbers; a line that is not UTF-8 is rejected."""
        for number, line in self.raw_lines():
            try:
                text = self.decode(line, number)
            except InputError as error:
                self.notes.reject(error)
            else:
                yield number, text

    def text(self) -> str:
        """Return the text of the whole file, without a byte order mark.

        For formats with one document per file.
        """
        data = self._without_mark(self._bytes())
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line_start = data.rfind(b"\n", 0, error.start) + 1
            line_end = data.find(b"\n", line_start)
            line = data[line_start : None if line_end < 0 else line_end]
            return self.decode(line, data.count(b"\n", 0, error.start) + 1)

    def _bytes(self) -> bytes:
        """Read the whole file with few system calls: a folder may hold very many files."""
        if self._pipe or self.is_stdin:
            with self.open() as stream:
                return self.guard(stream.read)
        with self._open_file() as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                self._pipe = _Pipe(file)
                return self._bytes()
            data = self.guard(file.readall)
        if self._on_bytes:
            self._on_bytes(len(data))
        return self.guard(lambda: gzip.decompress(data)) if data[:2] == GZIP_MAGIC else data

    def _without_mark(self, data: bytes) -> bytes:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise self.error("is UTF-16, not UTF-8", 1, "convert it first: iconv -f UTF-16 -t UTF-8")
        return data.removeprefix(codecs.BOM_UTF8)

    def guard(self, read: Callable[[], T]) -> T:
        """Call a function that reads; turn errors of damaged files into `InputError`."""
        try:
            return read()
        except _DAMAGE as error:
            raise self._damaged(error) from None

    def _guarded(self, lines: Iterable[T]) -> Iterator[T]:
        """Yield from an iterator that reads, with the same errors as `guard`."""
        try:
            yield from lines
        except _DAMAGE as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> InputError:
        return self.error(f"is damaged or cut short ({error})", hint="copy or download it again")


class _Pipe(io.RawIOBase):
    """A stream that can be read only once.

    Its beginning is kept, so that it can be inspected before it is read.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        parts: list[bytes] = []
        while sum(map(len, parts)) < PIPE_HEAD_BYTES and (part := stream.read(PIPE_HEAD_BYTES)):
            parts.append(part)
        self.head = self._ahead = b"".join(parts)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        chunk = self._ahead[: len(buffer)] or self._stream.read(len(buffer)) or b""
        self._ahead = self._ahead[len(chunk) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)


class _Gunzipped(gzip.GzipFile):
    """The content of a gzipped file; closing it closes the file."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._raw = raw

    def close(self) -> None:
        super().close()
        self._raw.close()


class _Counted(io.RawIOBase):
    """A raw file that reports how many bytes are read from it."""

    def __init__(self, file: io.FileIO, on_bytes: OnBytes) -> None:
        self._file, self._on_bytes = file, on_bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: bytearray | memoryview, /) -> int | None:  # type: ignore[override]
        count = self._file.readinto(buffer)
        self._on_bytes(count or 0)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
