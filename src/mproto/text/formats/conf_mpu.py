"""Conf-MPU: three columns: word, human tag (BIO), number of the distant label (0 is outside).

The file does not name the numbers. Their names come from `types.txt` in the same folder (one label
per line, label 1 first), which this project writes, or from the `labels` option. A human tag of
`-1` means that there is no human tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.io.sources import Source
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.conll import split_row
from mproto.text.formats.records import Block, read_blocks
from mproto.text.formats.sidecar import append_names, locked_sidecar, read_names
from mproto.text.formats.tag_reading import TagReader
from mproto.text.tagging import OUTSIDE, decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NO_TAG = "-1"
TYPES = "types.txt"


def read(source: Source, options: Options) -> Iterator[Document]:
    names = list(options.labels) or read_names(source, source.path.with_name(TYPES)) or []
    tags = TagReader(options)

    def parse(block: Block) -> Document:
        rows = [(number, split_row(line, number, at_least=3)) for number, line in block]
        human = [row[1] for _, row in rows]
        has_human_tags = any(tag != NO_TAG for tag in human)
        distant = [_name(row[2], number, names) for number, row in rows]
        return Document.from_words(
            [row[0] for _, row in rows],
            decode(distant, bare=True).spans,
            gold=tags.spans(human, [number for number, _ in rows]) if has_human_tags else None,
        )

    yield from read_blocks(source, parse)
    tags.report(source.notes)


def _name(number: str, line: int, names: list[str]) -> str:
    if not number.isdecimal():
        raise InputError(f"label {number!r} is not a number", line=line, hint="the third column must number a label")
    if number == "0":
        return OUTSIDE
    if int(number) > len(names):
        raise InputError(
            f"label {number} has no name",
            line=line,
            hint=f"list the labels in {TYPES} next to the file, label 1 first, or pass --labels PER,LOC,ORG,MISC",
        )
    return names[int(number) - 1]


def write(documents: Iterable[Document], target: Target) -> None:
    path = locked_sidecar(target, TYPES)
    names = read_names(Source(path), path) or []
    known, numbers = len(names), {name: str(i) for i, name in enumerate(names, 1)}
    stream = target.outputs.open(target.path)
    for document in documents:
        words = document.word_texts
        distant = ["0"] * len(words)
        for start, end, name in document.word_spans:
            target.notes.count(
                "spans with the label O, which means outside in this format, were relabelled O_", name == OUTSIDE
            )
            label = "O_" if name == OUTSIDE else name
            if label not in numbers:
                names.append(label)
                numbers[label] = str(len(names))
            distant[start:end] = [numbers[label]] * (end - start)
        gold = document.gold_word_spans
        human = [NO_TAG] * len(words) if gold is None else encode(gold, len(words), "bio")
        rows = "".join(f"{' '.join(row)}\n" for row in zip(words, human, distant, strict=True))
        stream.write(f"{rows}\n".encode())
    if len(names) > known:
        append_names(target, path, names[known:])


def sniff(head: Head) -> bool:
    rows = head.columns
    return bool(rows) and all(
        len(row) in (3, 4) and (row[1] in ("O", NO_TAG) or row[1][:2] in ("B-", "I-")) and row[2].isdecimal()
        for row in rows
    )


FORMAT = Format(
    name="conf-mpu",
    title="Conf-MPU, three columns",
    keeps=Keeps.WORDS | Keeps.SPANS | Keeps.GOLD,
    sample="Aspirin B-Chemical 1\nhelps O 0",
    read=read,
    write=write,
    sniff=sniff,
)
