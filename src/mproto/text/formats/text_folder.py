"""Plain text: a folder with one document per file. The file name is the id."""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.errors import Notes
    from mproto.io.sources import Source

_DIGITS = re.compile(r"(\d+)")
_FILE_NAME = re.compile(r'(?!\.)[^/\\:*?"<>|\x00-\x1f]{1,60}')


def files_below(folder: Path, suffix: str) -> Iterator[str]:
    """Yield the files below a folder whose names end in `suffix`.

    Paths are strings, since making `Path` objects costs more than reading the files.
    """
    for directory, _, names in os.walk(folder):
        prefix = os.path.join(directory, "")  # noqa: PTH118
        yield from (prefix + name for name in names if name.endswith(suffix))


def text_files(source: Source) -> list[str]:
    """Return the `.txt` files below a folder, in natural order."""
    files = sorted(files_below(source.path, ".txt"), key=_natural_key) if source.is_folder else [str(source.path)]
    if not files:
        raise source.error("contains no .txt file", hint="name a folder of .txt files")
    return files


def _natural_key(path: str) -> list[tuple[int, str]]:
    """Sort key that puts 2 before 10, so documents keep the order in which they were numbered."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(path)]


def encode(text: str) -> bytes:
    """Return the bytes of a text file.

    A text that starts with a byte order mark gets a second one, since readers remove one.
    """
    return (f"\ufeff{text}" if text.startswith("\ufeff") else text).encode()


def file_names(documents: Iterable[Document], notes: Notes) -> Iterator[tuple[str, Document]]:
    """Yield documents with file names: the id if it is valid and unused, else a number."""
    taken: set[str] = set()
    for number, document in enumerate(documents, 1):
        name = document.id
        if name in taken or not _FILE_NAME.fullmatch(name):
            notes.count("document ids that cannot be file names were replaced by numbers", bool(name))
            name = next(free for i in count(number) if (free := f"{i:06d}") not in taken)
        taken.add(name)
        yield name, document


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    for path in text_files(source):
        try:
            text = source.beside(path).text()
        except InputError as error:
            source.notes.reject(error)
        else:
            yield Document(text, id=document_id(source, path))


def document_id(source: Source, path: str) -> str:
    """Return the path relative to the folder, without its ending; for a single file, its name."""
    folder, name = f"{source.path}{os.sep}", path.removesuffix(".txt")
    return name.removeprefix(folder).replace(os.sep, "/") if name.startswith(folder) else Path(path).stem


def write(documents: Iterable[Document], target: Target) -> None:
    folder = target.outputs.folder(target.path, (".txt",))
    for name, document in file_names(documents, target.notes):
        folder.write(f"{name}.txt", encode(document.text))


def sniff(head: Head) -> bool:
    return head.is_folder and any(files_below(head.path, ".txt")) and not any(files_below(head.path, ".ann"))


FORMAT = Format(
    name="text-folder",
    title="plain text, a folder with one document per file",
    keeps=Keeps.TEXT | Keeps.IDS | Keeps.EMPTY,
    sample="notes/0001.txt:  Selegiline-induced postural hypotension in Parkinson's disease.",
    read=read,
    write=write,
    sniff=sniff,
    is_folder=True,
)
