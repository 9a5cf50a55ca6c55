"""Tables: CSV and TSV, with a header or with columns named by the caller.

Columns: `term`, `type` (or `label`), `id`, `aliases` (separated by `|`), `case_sensitive`.
AutoNER's `dict_core.txt` has the columns `type,term` and no header; Stanford's RegexNER mapping has
`term,type`. The result of a Wikidata query (`item`, `itemLabel`, `itemAltLabel`) is detected by its
header. Other columns of a header are ignored.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.gazetteer.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.io.sources import Source

COLUMNS = ("term", "type", "id", "aliases", "case_sensitive", "-")
NAMES = {
    "term": "term",
    "surface": "term",
    "name": "term",
    "type": "type",
    "label": "type",
    "id": "id",
    "aliases": "aliases",
    "case_sensitive": "case_sensitive",
}
WIKIDATA = {"item": "id", "itemlabel": "term", "itemaltlabel": "aliases"}
YES, NO = {"1", "true", "yes", "y"}, {"0", "false", "no", "n"}


def read(source: Source, type_: str | None, delimiter: str, columns: tuple[str, ...]) -> Iterator[Entry]:
    rows = _rows(source, delimiter)
    alias_separator = "|"
    if not columns:
        _, cells = next(rows, (1, []))
        header = [cell.strip().lower() for cell in cells]
        is_wikidata = "itemlabel" in header
        names = WIKIDATA if is_wikidata else NAMES
        alias_separator = ", " if is_wikidata else "|"
        columns = tuple(names.get(cell, "-") for cell in header)
        _check_header(source, header, columns, type_)
    else:
        _check_columns(source, columns, type_)
    for line, cells in rows:
        if any(cell.strip() for cell in cells):
            try:
                yield from _entries(source, dict(zip(columns, cells, strict=False)), type_, alias_separator, line)
            except InputError as error:
                source.notes.reject(error)


def _rows(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the number of its last line."""
    last_line = 1

    def lines() -> Iterator[str]:
        nonlocal last_line
        for last_line, line in source.lines():  # noqa: B007 (nonlocal)
            yield f"{line}\n"

    rows = csv.reader(lines(), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE)
    try:
        for cells in rows:
            yield last_line, cells
    except csv.Error as error:
        raise source.error(f"cannot be read as a table ({error})", last_line, "check the quotation marks") from None


def _check_header(source: Source, header: list[str], columns: tuple[str, ...], type_: str | None) -> None:
    shown = ", ".join(header)
    if "term" not in columns:
        raise source.error(
            f"its first line ({shown}) has no term column",
            1,
            "add a header with term and label, or name the columns with --columns",
        )
    if "type" not in columns and type_ is None:
        raise source.error(f"its header ({shown}) has no label column", 1, "add one, or name the type: TYPE=FILE")


def _check_columns(source: Source, columns: tuple[str, ...], type_: str | None) -> None:
    if unknown := [column for column in columns if column not in COLUMNS]:
        raise InputError(f"--columns: there is no column {unknown[0]!r}", hint=f"choose from {', '.join(COLUMNS)}")
    if "term" not in columns:
        raise InputError("--columns must name the term column", hint="for example --columns type,term")
    if "type" not in columns and type_ is None:
        raise source.error("has no type column", hint="add it to --columns, or name the type: TYPE=FILE")


def _entries(source: Source, row: dict[str, str], type_: str | None, separator: str, line: int) -> Iterator[Entry]:
    surface, kind = row.get("term", "").strip(), type_ or row.get("type", "").strip()
    if not surface or not kind:
        missing = "term" if not surface else "type"
        raise source.error(f"the row {list(row.values())} has no {missing}", line, "fill it in or delete the row")
    case = row.get("case_sensitive", "").strip().lower()
    if case and case not in YES | NO:
        raise source.error(f"case_sensitive is {case!r}", line, "write yes or no, or leave it empty")
    case_sensitive = case in YES if case else None
    surfaces = [surface, *(alias.strip() for alias in row.get("aliases", "").split(separator))]
    for name in dict.fromkeys(filter(None, surfaces)):
        yield Entry(name, kind, row.get("id", "").strip(), case_sensitive, str(source.path), line)
