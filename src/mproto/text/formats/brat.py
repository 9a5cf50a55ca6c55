"""brat standoff: `X.txt` and `X.ann` with lines `T1<TAB>Label 0 7<TAB>Aspirin`, in characters.

A span across a line end is written in pieces (`0 4;5 9`) and read back as one. A discontinuous span
(pieces with words between them) becomes one span from its first to its last character, and is
counted. Relations, events, attributes and notes are not read.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.text.document import Document, Span
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.records import shorten
from mproto.text.formats.text_folder import document_id, encode, file_names, files_below, text_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    if source.is_folder:
        paths, annotated = text_files(source), set(files_below(source.path, ".ann"))
    else:
        paths, annotated = [str(source.path.with_suffix(".txt"))], {str(source.path.with_suffix(".ann"))}
    without_text = annotated - {_annotations(path) for path in paths}
    source.notes.count("annotation files without a text file were not read", len(without_text))
    for path in paths:
        try:
            yield _read_pair(source, path, has_annotations=_annotations(path) in annotated)
        except InputError as error:
            source.notes.reject(error)


def _annotations(path: str) -> str:
    return path.removesuffix(".txt") + ".ann"


def _read_pair(source: Source, path: str, *, has_annotations: bool) -> Document:
    text = source.beside(path).text()
    spans = []
    if has_annotations:
        annotations = source.beside(_annotations(path))
        for number, line in enumerate(annotations.text().replace("\r\n", "\n").split("\n"), 1):
            if line.startswith("T"):
                try:
                    spans.append(_span(line, text, source))
                except InputError as error:
                    raise error.at(annotations.path, number) from None
            elif line.strip():
                source.notes.count("relations, events, attributes and notes were not read")
    return Document(text, tuple(spans), id=document_id(source, path))


def _span(line: str, text: str, source: Source) -> Span:
    columns = line.split("\t", 2)
    label, _, offsets = columns[1].partition(" ") if len(columns) > 1 else ("", "", "")
    try:
        pieces = [(int(first), int(last)) for first, last in (piece.split() for piece in offsets.split(";"))]
        start, end = pieces[0][0], pieces[-1][1]
    except (ValueError, IndexError):
        raise InputError(f"{shorten(line)} is not ID<TAB>LABEL START END<TAB>TEXT", hint="correct it") from None
    if not 0 <= start < end <= len(text):
        raise InputError(
            f"span {start}–{end} ({label}) lies outside its text of {len(text)} characters", hint="correct it"
        )
    if not label:
        raise InputError(f"{shorten(line)} has no label", hint="correct it")
    surface = "".join(columns[2].split()) if len(columns) > 2 else ""
    if surface and surface != "".join("".join(text[first:last] for first, last in pieces).split()):
        raise InputError(
            f"span {start}–{end} is {text[start:end]!r} in the text and not {columns[2]!r}",
            hint="correct it; if the text's line ends were changed to CRLF, change them back",
        )
    if any(text[one[1] : other[0]].strip() for one, other in pairwise(pieces)):
        source.notes.count("discontinuous spans were read as one span from their first to their last character")
    return Span(start, end, label)


def write(documents: Iterable[Document], target: Target) -> None:
    folder = target.outputs.folder(target.path, (".txt", ".ann"))
    for name, document in file_names(documents, target.notes):
        lines = []
        for i, (start, end, label) in enumerate(document.spans, 1):
            pieces = _pieces(document.text, start, end)
            if not pieces:
                target.notes.count("spans of line ends only were lost")
                continue
            offsets = ";".join(f"{first} {last}" for first, last in pieces)
            surface = " ".join(document.text[first:last] for first, last in pieces)
            lines.append(f"T{i}\t{label} {offsets}\t{surface}\n")
        folder.write(f"{name}.txt", encode(document.text))
        folder.write(f"{name}.ann", "".join(lines).encode())


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a span between line ends."""
    pieces = []
    for line in text[start:end].splitlines(keepends=True):
        content = line.rstrip("\r\n")
        if content:
            pieces.append((start, start + len(content)))
        start += len(line)
    return pieces


def sniff(head: Head) -> bool:
    if head.is_folder:
        return any(files_below(head.path, ".ann"))
    return head.suffix == ".ann" and head.path.with_suffix(".txt").exists()


FORMAT = Format(
    name="brat",
    title="brat standoff, a folder of .txt and .ann files",
    keeps=Keeps.TEXT | Keeps.SPANS | Keeps.CUTS | Keeps.OVERLAPS | Keeps.TOUCHING | Keeps.IDS | Keeps.EMPTY,
    sample="0001.txt:  Aspirin helps\n0001.ann:  T1\tChemical 0 7\tAspirin",
    read=read,
    write=write,
    sniff=sniff,
    is_folder=True,
)
