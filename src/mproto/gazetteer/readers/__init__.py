"""Read term lists. One module per family of formats; every entry records its file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.errors import InputError, Notes
from mproto.gazetteer.readers import patterns, plain_terms, skos, skweak, tables
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
    """Read the entries of a file, in the format of its ending, or of a folder of `TYPE.txt` files.

    Args:
        path: the file or folder.
        type_: the type of all terms. It is needed if the file does not contain types; a text file's
            default is its name.
        columns: the columns of a table without a header.
        language: the language of SKOS labels to read, in addition to labels without a language;
            `None` reads all languages.
        notes: where rejected rows are counted.

    Raises:
        InputError: see `Gazetteer.load`.
    """
    notes = notes or Notes()
    if not path.is_dir():
        yield from _read_file(Source(path, notes), type_, columns, language)
        return
    files = sorted(path.glob("*.txt")) + sorted(path.glob("*.txt.gz"))
    if not files:
        raise InputError("contains no .txt file", path=path, hint="a gazetteer folder has one TYPE.txt for each type")
    for file in files:
        yield from plain_terms.read(Source(file, notes), type_ or _stem(file))


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _read_file(source: Source, type_: str | None, columns: tuple[str, ...], language: str | None) -> Iterator[Entry]:
    is_empty = True
    for entry in _entries(source, type_, columns, language):
        is_empty = False
        yield entry
    if is_empty:
        raise source.error("contains no terms", hint="check the file")


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
    return plain_terms.read(source, type_ or _stem(source.path))
