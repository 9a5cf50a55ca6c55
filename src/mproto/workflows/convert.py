"""Convert documents from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mproto.errors import InputError
from mproto.io.outputs import check_apart
from mproto.io.sources import Source
from mproto.text.formats.base import Options
from mproto.text.formats.registry import find_format, format_for_output, get_format, write_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.errors import Notes
    from mproto.text.document import Document


class Converted(NamedTuple):
    """The result of a conversion."""

    documents: int
    spans: int
    read_format: str
    write_format: str
    notes: Notes


def convert(
    source: Source | Path | str,
    output: Path | str,
    *,
    read_format: str | None = None,
    write_format: str | None = None,
    options: Options = Options(),
    force: bool = False,
) -> Converted:
    """Read documents in one format and write them in another, document by document.

    Args:
        source: the input; pass a `Source` to choose how wrong records are handled.
        output: the file or folder to write.
        read_format: the format of the input; detected from its content if not given.
        write_format: the format of the output; chosen by the ending of its name if not given.
        options: how to read and write documents.
        force: replace an existing output.

    Raises:
        InputError: the input or the call is wrong; nothing is written.
    """
    source = source if isinstance(source, Source) else Source(source)
    reader = find_format(source, read_format)
    writer = get_format(write_format) if write_format else format_for_output(output, reader)
    check_apart(source, Path(output), is_folder=writer.is_folder)

    def documents() -> Iterator[Document]:
        count = 0
        for document in reader.read(source, options):
            count += 1
            yield document
        if not count:
            what = f"contains no valid document ({source.notes.rejected} are wrong)"
            raise source.error(what if source.notes.rejected else "contains no document", hint="check the file")

    try:
        written = write_documents(documents(), output, writer, options, force=force, notes=source.notes)
    except InputError as error:
        raise error.at(source.path) from None
    return Converted(written.documents, written.spans, reader.name, writer.name, source.notes)
