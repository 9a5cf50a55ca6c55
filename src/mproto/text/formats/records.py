"""Read a file record by record. Errors name the line; invalid records are rejected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.formats.base import is_comment, is_document_mark
from mproto.text.formats.json_stream import json_error, json_values
from mproto.text.formats.json_text import dump_json, load_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from mproto.io.sources import Source
    from mproto.text.document import Document

Block = list[tuple[int, str]]
"""The lines of a sentence, with their line numbers."""


def read_lines(source: Source, parse: Callable[[str, int], Document | None]) -> Iterator[Document]:
    """Read one document per line; blank lines are skipped."""
    for number, raw in source.raw_lines():
        if raw.strip():
            try:
                document = parse(source.decode(raw, number), number)
            except (InputError, ValueError) as error:
                _reject(source, error, number)
            else:
                if document is not None:
                    source.line = number
                    yield document


def read_blocks(source: Source, parse: Callable[[Block], Document | None]) -> Iterator[Document]:
    """Read one document per block of lines; blank lines and `-DOCSTART-` lines separate blocks."""
    block: list[tuple[int, bytes]] = []

    def document() -> Iterator[Document]:
        lines, first = block.copy(), block[0][0]
        block.clear()
        return _parse_or_reject(source, lambda: parse([(n, source.decode(raw, n)) for n, raw in lines]), first)

    for number, raw in source.raw_lines():
        if raw.startswith(b"#") and is_comment(raw.decode("utf-8", "replace")):
            source.notes.count("comment lines were not read")
        elif raw.strip() and not (raw.startswith(b"-") and is_document_mark(raw.decode("utf-8", "replace"))):
            block.append((number, raw))
        elif block:
            yield from document()
    if block:
        yield from document()


def read_json_lines(
    source: Source, parse: Callable[[dict[str, Any]], Document | None], small_int_keys: AbstractSet[str] = frozenset()
) -> Iterator[Document]:
    """Read one document per line of JSON; some tools write one JSON array instead.

    `small_int_keys` is explained in `load_json`.
    """
    if source.head().lstrip()[:1] == b"[":
        return read_json(source, parse)

    def parse_line(line: str, number: int) -> Document | None:
        try:
            record = load_json(line, small_int_keys)
        except (ValueError, RecursionError) as error:
            raise json_error(source, error, number) from None
        return parse(_expect_object(record))

    return read_lines(source, parse_line)


def read_json(source: Source, parse: Callable[[dict[str, Any]], Document | None]) -> Iterator[Document]:
    """Read one document per object of a JSON array or of JSON Lines, one object at a time."""
    for number, record in json_values(source):
        yield from _parse_or_reject(source, lambda: parse(_expect_object(record)), number)  # noqa: B023


def write_json_array(records: Iterable[dict[str, Any]], write: Callable[[bytes], object]) -> None:
    """Write a JSON array with one object per line."""
    separator = "[\n"
    for record in records:
        write(f"{separator}{dump_json(record)}".encode())
        separator = ",\n"
    write(b"[]\n" if separator == "[\n" else b"\n]\n")


def _parse_or_reject(source: Source, parse: Callable[[], Document | None], line: int) -> Iterator[Document]:
    """Yield the document, unless it is invalid or the parser skips it."""
    try:
        document = parse()
    except (InputError, ValueError) as error:
        _reject(source, error, line)
    else:
        if document is not None:
            source.line = line
            yield document


def _reject(source: Source, error: InputError | ValueError, line: int) -> None:
    if isinstance(error, InputError):
        source.notes.reject(error.at(source.shown, line))
    else:
        source.notes.reject(source.error(str(error), line, "correct it"))


def _expect_object(record: object) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise InputError(f"{shorten(record)} is not a JSON object", hint="each record must be {…}")
    return record


def shorten(value: object, length: int = 60) -> str:
    """Format a value for an error message."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = repr(text) if isinstance(value, str) else text
    return text if len(text) <= length else f"{text[: length - 1]}…"
