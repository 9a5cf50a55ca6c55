"""A log of finished work in a hidden file next to an output, so that long work can be resumed."""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from mproto.errors import InputError
from mproto.io.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

T = TypeVar("T")

VERSION = 2
"""The version of the log format."""
FLUSH_EVERY = 100
"""The number of records between two flushes; a crash of the machine loses at most this many."""
START_AGAIN = "start again with --force instead of --resume"


class Records(NamedTuple, Generic[T]):
    """Functions that convert items and their results to JSON records and back.

    Attributes:
        name: the name of one item in messages, for example `document`.
        content: returns the content of an item, which identifies it.
        to_record: returns the result for an item as JSON values.
        from_record: returns the item with its recorded result.
    """

    name: str
    content: Callable[[T], str]
    to_record: Callable[[T], Any]
    from_record: Callable[[T, Any], T]


class ResumableLog(Generic[T]):
    """A log with one line of JSON for each finished item: the checksum of its content, and its result.

    The file is deleted when all work is done, and kept when it is interrupted.

    Args:
        output: the output that is being written.
        settings: identifies the model and the settings; work is resumed only with the same ones.
        records: the conversion of items to records.
        resume: whether to resume the work of an existing log.
        force: whether to discard an existing log.

    Attributes:
        path: the file.

    Raises:
        InputError: the log belongs to other work, or there is a log and neither `resume` nor
            `force` is set.
    """

    def __init__(self, output: Path, settings: str, records: Records[T], *, resume: bool, force: bool = False) -> None:
        self.path = output.with_name(f".{output.name}.progress")
        self._header, self._records = json.dumps([VERSION, settings]), records
        if not resume and not force:
            self._check_absent(output)
        self._known = self._read() if resume else []
        self._new = 0
        self._file: IO[str] | None = None

    def _check_absent(self, output: Path) -> None:
        """Check that no work is recorded, so that a forgotten option cannot discard hours of work."""
        try:
            with self.path.open("rb") as file:
                done = sum(1 for _ in file) - 1
        except OSError:  # there is no log; if it cannot be written either, opening it reports the error
            return
        if done > 0:
            what = f"work on this output was stopped after {done:,} {self._records.name}s"
            raise InputError(what, path=output, hint="resume it with --resume, or start again with --force")

    def _read(self) -> list[tuple[int, Any]]:
        try:
            header, *lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read: {error}", path=self.path, hint=START_AGAIN) from None
        if header != self._header:
            what = "the interrupted work used another model or other settings"
            raise InputError(what, path=self.path, hint=START_AGAIN)
        known: list[tuple[int, Any]] = []
        for line in lines:
            try:
                checksum, record = json.loads(line)
            except (ValueError, TypeError):  # the last line, cut short
                break
            known.append((checksum, record))
        return known

    def __enter__(self) -> Self:
        lines = [self._header, *map(json.dumps, self._known)]
        try:
            write_file(self.path, "".join(f"{line}\n" for line in lines).encode())
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            what = f"cannot be written ({error.strerror})"
            raise InputError(what, path=self.path, hint="choose another output") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._file is not None
        with suppress(OSError):
            self._file.close()
        if kind is None or not (self._known or self._new):
            self.path.unlink(missing_ok=True)

    def run(self, items: Iterable[T], work: Callable[[Iterator[T]], Iterator[T]]) -> Iterator[T]:
        """Yield the items with their recorded results, then with new ones, which are recorded.

        Args:
            items: in the same order as before.
            work: a function that yields the items with their results, in order.

        Raises:
            InputError: an item differs from the recorded one.
        """
        assert self._file is not None
        items = iter(items)
        for number, (recorded, item) in enumerate(zip(self._known, items, strict=False), 1):
            checksum, record = recorded
            if checksum != self._checksum(item):
                what = f"{self._records.name} {number} has changed since the work was interrupted"
                raise InputError(what, hint=START_AGAIN)
            yield self._records.from_record(item, record)
        for item in work(items):
            self._file.write(json.dumps([self._checksum(item), self._records.to_record(item)]) + "\n")
            self._new += 1
            if self._new % FLUSH_EVERY == 0:
                self._file.flush()
            yield item

    def _checksum(self, item: T) -> int:
        return zlib.crc32(self._records.content(item).encode("utf-8", "surrogatepass"))
