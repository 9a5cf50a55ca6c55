"""Plain text: a folder with one document a file; the id is the file's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mproto.errors import Notes
    from mproto.inputs import Source

_FILE_NAME = re.compile(r'(?!\.)[^/\\:*?"<>|\x00-\x1f]{1,60}')


def text_files(source: Source) -> list[Path]:
    """The `.txt` files of a folder and of its folders, in order."""
    files = sorted(source.path.rglob("*.txt")) if source.is_folder else [source.path]
    if not files:
        raise source.error("holds no .txt file", hint="name a folder of .txt files")
    return files


def file_names(documents: Iterable[Document], notes: Notes) -> Iterator[tuple[str, Document]]:
    """Documents with a file name each: the id where it is fit to be one and still free, else a number."""
    taken: set[str] = set()
    for number, document in enumerate(documents, 1):
        name = document.id
        if name in taken or not _FILE_NAME.fullmatch(name):
            notes.count("document ids that cannot be file names were replaced by numbers", bool(name))
            name = f"{number:06d}"
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


def document_id(source: Source, path: Path) -> str:
    return (path.relative_to(source.path) if source.is_folder else path).with_suffix("").as_posix()


def write(documents: Iterable[Document], target: Target) -> None:
    folder = target.outputs.folder(target.path, (".txt",))
    for name, document in file_names(documents, target.notes):
        folder.write(f"{name}.txt", document.text.encode())


def sniff(head: Head) -> bool:
    return head.is_folder and any(head.path.rglob("*.txt")) and not any(head.path.rglob("*.ann"))


FORMAT = Format(
    name="text-folder",
    title="plain text, a folder with one document a file",
    keeps=Keeps.TEXT | Keeps.IDS | Keeps.EMPTY,
    sample="notes/0001.txt:  Selegiline-induced postural hypotension in Parkinson's disease.",
    read=read,
    write=write,
    sniff=sniff,
    is_folder=True,
)
