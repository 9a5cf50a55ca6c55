"""Text files: one term per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.gazetteer.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.io.sources import Source


def read(source: Source, type_: str) -> Iterator[Entry]:
    """Read entries of one type. White space around terms and blank lines are ignored."""
    file = str(source.path)
    is_empty = True
    for number, line in source.lines():
        if "\0" in line:
            raise source.error("is binary, not a list of terms", number, "name a text file")
        surface = line.strip()
        if not surface:
            continue
        if "\t" in surface:
            raise source.error(
                f"has columns ({surface[:60]!r})",
                number,
                "name them: --columns type,term (AutoNER) or --columns term,type (RegexNER)",
            )
        is_empty = False
        yield Entry(surface, type_, file=file, line=number)
    if is_empty:
        raise source.error("contains no terms", hint="write one term per line")
