"""CoNLL columns: one word per line, the word first and its tag last; blank lines between sentences.

The reader accepts any number of columns, tabs or spaces, `-DOCSTART-` lines, and Label Studio's
export (`word -X- _ TAG`). The writer writes two columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target, split_columns
from mproto.text.formats.records import Block, read_blocks, shorten
from mproto.text.formats.tag_reading import TagReader
from mproto.text.tagging import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source


def read(source: Source, options: Options) -> Iterator[Document]:
    tags = TagReader(options)

    def parse(block: Block) -> Document:
        rows = [split_row(line, number, at_least=2) for number, line in block]
        spans = tags.spans([row[-1] for row in rows], [number for number, _ in block])
        return Document.from_words([row[0] for row in rows], spans)

    yield from read_blocks(source, parse)
    tags.report(source.notes)


def split_row(line: str, number: int, at_least: int) -> list[str]:
    row = split_columns(line)
    if len(row) < at_least:
        raise InputError(
            f"{shorten(line)} has {len(row)} column{'s' * (len(row) != 1)} where at least {at_least} are needed",
            line=number,
            hint="add the missing columns; the word comes first and its tag last",
        )
    return row


def write(documents: Iterable[Document], target: Target) -> None:
    stream = target.outputs.open(target.path)
    for document in documents:
        words = document.word_texts
        tags = encode(document.word_spans, len(words), target.options.write_scheme)
        rows = "".join(f"{word} {tag}\n" for word, tag in zip(words, tags, strict=True))
        stream.write(f"{rows}\n".encode())


def sniff(head: Head) -> bool:
    rows = head.columns
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2 or rows[0][0] == "<s>":
        return False
    tags = [row[-1] for row in rows]
    return all(tag == "O" or (len(tag) > 2 and tag[0] in "BIOESLU" and tag[1] == "-") for tag in tags)


FORMAT = Format(
    name="conll",
    title="CoNLL columns, word first and tag last",
    keeps=Keeps.WORDS | Keeps.SPANS | Keeps.TOUCHING,
    sample="Aspirin B-Chemical\nhelps O",
    read=read,
    write=write,
    sniff=sniff,
    has_tags=True,
    suffixes=(".conll", ".iob", ".iob2", ".bio", ".tsv"),
)
