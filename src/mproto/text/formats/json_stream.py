"""Read a JSON array element by element, with only one element in memory at a time."""

from __future__ import annotations

import codecs
import json
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.errors import InputError
    from mproto.io.sources import Source

CHUNK = 1 << 16
NEAR_THE_END = 16
"""An error this close to the end of the buffer may mean that the buffer ends inside a literal or
number."""


def json_values(source: Source) -> Iterator[tuple[int, object]]:
    """Yield the elements of an array or the values of JSON Lines, with the line each starts in."""
    with source.open() as stream:
        yield from _Values(source, stream).elements()


def json_error(source: Source, error: Exception, line: int) -> InputError:
    what = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
    return source.error(f"is not valid JSON ({what})", line, "correct it, or name another format with --from")


class _Values:
    def __init__(self, source: Source, stream: IO[bytes]) -> None:
        self.source, self.stream = source, stream
        self.utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self.decoder = json.JSONDecoder()
        self.buffer, self.position, self.line = "", 0, 1
        self.ended = False

    def elements(self) -> Iterator[tuple[int, object]]:
        if self.next_char() != "[":
            while self.next_char():
                yield self.value()
            return
        self.position += 1
        if self.next_char() != "]":
            yield self.value()
            while self.next_char() == ",":
                self.position += 1
                self.next_char()
                yield self.value()
        if self.next_char() != "]":
            found = self.next_char() or "the end of the file"
            raise self.error(f"expected , or ] but found {found}")
        self.position += 1
        if rest := self.next_char():
            raise self.error(f"found {rest} after the end of the array")

    def next_char(self) -> str:
        """Return the next character after white space without consuming it; empty at the end."""
        while True:
            while self.position < len(self.buffer) and self.buffer[self.position].isspace():
                self.line += self.buffer[self.position] == "\n"
                self.position += 1
            if self.position < len(self.buffer):
                return self.buffer[self.position]
            if self.ended:
                return ""
            self.read_more()

    def value(self) -> tuple[int, object]:
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.position)
            except json.JSONDecodeError as error:
                cut_short = error.msg.startswith("Unterminated") or error.pos >= len(self.buffer) - NEAR_THE_END
                if self.ended or not cut_short:
                    self.line += self.buffer.count("\n", self.position, error.pos)
                    raise self.error(error.msg) from None
                self.read_more()
            except (ValueError, RecursionError) as error:  # a number with thousands of digits, or deep nesting
                raise self.error(str(error)) from None
            else:
                line = self.line
                self.line += self.buffer.count("\n", self.position, end)
                self.position = end
                return line, value

    def read_more(self) -> None:
        """Read at least as much as the buffer holds, so that long values are not parsed often."""
        kept = self.buffer[self.position :]
        chunk = self.source.guard(lambda: self.stream.read(max(CHUNK, len(kept))))
        self.ended = not chunk
        try:
            self.buffer, self.position = kept + self.utf8.decode(chunk, final=self.ended), 0
        except UnicodeDecodeError as error:
            line = self.line + kept.count("\n") + chunk.count(b"\n", 0, error.start)
            value = chunk[error.start : error.start + 1]
            raise self.source.error(f"byte {value!r} is not UTF-8", line, "save the file as UTF-8") from None

    def error(self, message: str) -> InputError:
        return json_error(self.source, ValueError(message), self.line)
