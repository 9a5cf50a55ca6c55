"""Tables: CSV and TSV, with a header or with columns that the caller names.

Columns: `term`, `type` (or `label`), `id`, `aliases` (separated by `|`), `case_sensitive`. AutoNER's `dict_core.txt` is
`type,term` without a header, Stanford's RegexNER mapping `term,type`. A Wikidata query's result (`item`, `itemLabel`,
`itemAltLabel`) is told by its header. Other columns of a header are ignored.
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
    lines: list[int] = []

    def texts() -> Iterator[str]:
        for number, line in source.lines():
            lines.append(number)
            yield f"{line}\n"

    rows = csv.reader(texts(), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE)
    alias_separator = "|"
    if not columns:
        header = [cell.strip().lower() for cell in next(rows, [])]
        is_wikidata = "itemlabel" in header
        names = WIKIDATA if is_wikidata else NAMES
        alias_separator = ", " if is_wikidata else "|"
        columns = tuple(names.get(cell, "-") for cell in header)
        _check_header(source, header, columns, type_)
    else:
        _check_columns(source, columns, type_)
    for row in rows:
        if any(cell.strip() for cell in row):
            try:
                yield from _entries(source, dict(zip(columns, row, strict=False)), type_, alias_separator, lines[-1])
            except InputError as error:
                source.notes.reject(error)


def _check_header(source: Source, header: list[str], columns: tuple[str, ...], type_: str | None) -> None:
    shown = ", ".join(header)
    if "term" not in columns:
        raise source.error(
            f"its first line ({shown}) names no term column",
            1,
            "add a header with term and label, or say what the columns are with --columns",
        )
    if "type" not in columns and type_ is None:
        raise source.error(f"its header ({shown}) has no label column", 1, "add one, or name the type: TYPE=FILE")


def _check_columns(source: Source, columns: tuple[str, ...], type_: str | None) -> None:
    if wrong := [column for column in columns if column not in COLUMNS]:
        raise InputError(f"--columns: there is no column {wrong[0]!r}", hint=f"choose from {', '.join(COLUMNS)}")
    if "term" not in columns:
        raise InputError("--columns must name the term column", hint="for example --columns type,term")
    if "type" not in columns and type_ is None:
        raise source.error("has no type column", hint="add it to --columns, or name the type: TYPE=FILE")


def _entries(source: Source, row: dict[str, str], type_: str | None, separator: str, line: int) -> Iterator[Entry]:
    surface, kind = row.get("term", "").strip(), type_ or row.get("type", "").strip()
    if not surface or not kind:
        missing = "term" if not surface else "type"
        raise source.error(f"the row {list(row.values())} has no {missing}", line, "fill it in or delete the row")
    marked = row.get("case_sensitive", "").strip().lower()
    if marked and marked not in YES | NO:
        raise source.error(f"case_sensitive is {marked!r}", line, "write yes or no, or leave it empty")
    case = marked in YES if marked else None
    surfaces = [surface, *(alias.strip() for alias in row.get("aliases", "").split(separator))]
    for name in dict.fromkeys(filter(None, surfaces)):
        yield Entry(name, kind, row.get("id", "").strip(), case, str(source.path), line)
