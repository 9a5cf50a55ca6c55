"""AutoNER `.ck`: word, break (`I`) or tie (`O`) to the previous word, label or `None`.

A sentence starts with `<s> O None` and ends with `<eof> I None`. An optional fourth column is `S`
(safe) or `D` (part of a phrase of unknown type); phrases of unknown type have no label and are not
read. Several labels of one span are joined by commas.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.text.document import Document, WordSpan
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.conll import split_row
from mproto.text.formats.records import Block, read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source

BREAK, TIE, NONE = "I", "O", "None"
START, END = "<s>", "<eof>"


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    def parse(block: Block) -> Document | None:
        rows = [(number, split_row(line, number, at_least=3)) for number, line in block]
        rows = rows[rows[0][1][0] == START :]
        rows = rows[: len(rows) - bool(rows and rows[-1][1][0] == END)]
        spans: list[WordSpan] = []
        start = 0
        for i, (number, row) in enumerate(rows):
            if row[1] not in (BREAK, TIE):
                raise InputError(f"mark {row[1]!r} is neither I (break) nor O (tie)", line=number, hint="correct it")
            if row[1] == BREAK or i == 0 or row[2] != rows[i - 1][1][2]:
                start = i
            if row[2] != NONE and (i + 1 == len(rows) or rows[i + 1][1][1] == BREAK or rows[i + 1][1][2] != row[2]):
                spans += [WordSpan(start, i + 1, label) for label in row[2].split(",")]
        unknown = [len(row) > 3 and row[3] == "D" for _, row in rows]
        source.notes.count(
            "phrases of unknown type (D) were not read", sum(is_unknown for is_unknown, _ in groupby(unknown))
        )
        return Document.from_words([row[0] for _, row in rows], spans) if rows else None

    return read_blocks(source, parse)


def write(documents: Iterable[Document], target: Target) -> None:
    stream = target.outputs.open(target.path)
    for document in documents:
        words = document.word_texts
        marks, labels = [BREAK] * len(words), [NONE] * len(words)
        for start, end, name in document.word_spans:
            target.notes.count(
                "spans with the label None, which means no label in this format, were relabelled None_", name == NONE
            )
            label = "None_" if name == NONE else name
            marks[start + 1 : end] = [TIE] * (end - start - 1)
            labels[start:end] = [label] * (end - start)
        rows = "".join(f"{' '.join(row)}\n" for row in zip(words, marks, labels, strict=True))
        stream.write(f"{START} {TIE} {NONE}\n{rows}{END} {BREAK} {NONE}\n\n".encode())


def sniff(head: Head) -> bool:
    return bool(head.columns) and head.columns[0][:3] == [START, TIE, NONE]


FORMAT = Format(
    name="autoner",
    title="AutoNER .ck, Tie or Break",
    keeps=Keeps.WORDS | Keeps.SPANS | Keeps.TOUCHING,
    sample="<s> O None\nAspirin I Chemical\nhelps I None\n<eof> I None",
    read=read,
    write=write,
    sniff=sniff,
    suffixes=(".ck",),
)
