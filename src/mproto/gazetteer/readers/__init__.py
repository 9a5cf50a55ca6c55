"""Term lists from files. One file per family of formats; every entry remembers its file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.errors import InputError, Notes
from mproto.gazetteer.readers import patterns, skos, skweak, tables, terms
from mproto.io.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mproto.gazetteer.entries import Entry

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
SKOS = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".skos": "xml", ".nt": "nt"}


def read_entries(
    path: Path,
    type_: str | None = None,
    *,
    columns: tuple[str, ...] = (),
    language: str | None = None,
    notes: Notes | None = None,
) -> Iterator[Entry]:
    """Entries of a file, whose format its ending says, or of a folder of `TYPE.txt` files.

    Args:
        path: the file or folder.
        type_: the type of all its terms; needed where the file does not say it, save for text files, whose name it is.
        columns: what the columns of a table are that has no header.
        language: where labels have languages (SKOS), the one to read, beside labels without any; all without it.
        notes: where left-out rows are counted.

    Raises:
        InputError: see `Gazetteer.load`.
    """
    notes = notes or Notes()
    if not path.is_dir():
        yield from _read_file(Source(path, notes), type_, columns, language)
        return
    files = sorted(path.glob("*.txt")) + sorted(path.glob("*.txt.gz"))
    if not files:
        raise InputError("holds no .txt file", path=path, hint="a gazetteer folder has one TYPE.txt for each type")
    for file in files:
        yield from terms.read(Source(file, notes), type_ or _stem(file))


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _read_file(source: Source, type_: str | None, columns: tuple[str, ...], language: str | None) -> Iterator[Entry]:
    found = False
    for entry in _entries(source, type_, columns, language):
        found = True
        yield entry
    if not found:
        raise source.error("holds no term", hint="check the file")


def _entries(source: Source, type_: str | None, columns: tuple[str, ...], language: str | None) -> Iterator[Entry]:
    suffix = source.suffix
    if suffix in SKOS:
        return skos.read(source, type_, SKOS[suffix], language)
    if suffix == ".jsonl":
        return patterns.read(source, type_)
    if suffix == ".json":
        return skweak.read(source, type_)
    if suffix in TABLES or columns:
        return tables.read(source, type_, TABLES.get(suffix, "\t"), columns)
    return terms.read(source, type_ or _stem(source.path))
