"""Text files: a term a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.gazetteer.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.io.sources import Source


def read(source: Source, type_: str) -> Iterator[Entry]:
    """Entries of one type; white space around terms and blank lines do not count."""
    file = str(source.path)
    found = False
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
                "say what they are: --columns type,term (AutoNER) or --columns term,type (RegexNER)",
            )
        found = True
        yield Entry(surface, type_, file=file, line=number)
    if not found:
        raise source.error("holds no term", hint="write one term a line")
