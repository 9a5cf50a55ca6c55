"""Plain text: one document per line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.records import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source

_LINE_ENDS = re.compile(r"[\r\n]")


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    return read_lines(source, lambda line, _: Document(line))


def write(documents: Iterable[Document], target: Target) -> None:
    stream = target.outputs.open(target.path)
    for document in documents:
        text, replaced = _LINE_ENDS.subn(" ", document.text)
        target.notes.count("line ends inside documents were replaced by spaces", replaced)
        stream.write(f"{text}\n".encode())


def sniff(head: Head) -> bool:  # noqa: ARG001
    """Return False, since any text could be plain text; the registry uses it for `.txt` files."""
    return False


FORMAT = Format(
    name="text",
    title="plain text, one document per line",
    keeps=Keeps.TEXT,
    sample="Selegiline-induced postural hypotension in Parkinson's disease.\nShe was given aspirin for the headache.",
    read=read,
    write=write,
    sniff=sniff,
    suffixes=(".txt", ".text"),
)
