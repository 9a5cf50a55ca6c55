"""From one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mproto.errors import InputError
from mproto.io.outputs import check_apart
from mproto.io.sources import Source
from mproto.text.formats.base import Options
from mproto.text.formats.registry import detect, format_for_output, get_format, write_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.errors import Notes
    from mproto.text.document import Document


class Converted(NamedTuple):
    """What a conversion did."""

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
    """Read documents in one format and write them in another, streaming.

    Args:
        source: the input; as a `Source` it says what to do with wrong records.
        output: the file or folder to write.
        read_format: the input's format; told from its content where not given.
        write_format: the output's; told from the name's ending where not given.
        options: of reader and writer.
        force: replace an existing output.

    Raises:
        InputError: the input, or the call, is wrong. Nothing is written then.
    """
    source = source if isinstance(source, Source) else Source(source)
    reader = get_format(read_format) if read_format else detect(source)
    writer = get_format(write_format) if write_format else format_for_output(output, reader)
    check_apart(source, Path(output), is_folder=writer.is_folder)

    def documents() -> Iterator[Document]:
        found = 0
        for document in reader.read(source, options):
            found += 1
            yield document
        if not found:
            what = f"holds no document that is right ({source.notes.rejected} are wrong)"
            raise source.error(what if source.notes.rejected else "holds no document", hint="check the file")

    try:
        written = write_documents(documents(), output, writer, options, force=force, notes=source.notes)
    except InputError as error:
        raise error.at(source.path) from None
    return Converted(written.documents, written.spans, reader.name, writer.name, source.notes)
