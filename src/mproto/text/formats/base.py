"""What a file format is: how to read it, how to write it, how to tell it, and what it can hold."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Flag, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any

DOCUMENT_MARK = "-DOCSTART-"
_COMMENT = re.compile(r"#\s*[^\s=]+\s*=\s")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mproto.errors import Notes
    from mproto.io.outputs import Outputs
    from mproto.io.sources import Source
    from mproto.text.document import Document
    from mproto.text.tagging import OutputScheme, Scheme


RESERVED_KEYS = frozenset(
    {
        "id",
        "text",
        "spans",
        "gold",
        "words",
        "tokens",
        "entities",
        "human_entities",
        "label",
        "labels",
        "relations",
        "Comments",
    }
    | {"answer", "_task_hash", "data", "annotations", "annotation_id", "tokenized_text", "ner", "str_words", "tags"}
)
"""Keys that mean something in one JSON format or another; metadata under such a key could be taken for it."""


class Keeps(Flag):
    """What survives a round trip through a format. Whatever a format does not keep is counted when it is written."""

    TEXT = auto()  # the text, character by character
    WORDS = auto()  # how it was split into words
    ANY_WORD = auto()  # words that hold white space
    SPANS = auto()
    CUTS = auto()  # spans that start or end inside a word
    OVERLAPS = auto()  # spans that share characters
    TOUCHING = auto()  # two spans of one label side by side
    ANY_LABEL = auto()  # labels that hold white space or commas
    GOLD = auto()  # human labels beside distant ones
    IDS = auto()
    META = auto()
    EMPTY = auto()  # documents without a word


@dataclass(frozen=True)
class Options:
    """What a reader or writer may need to be told.

    Attributes:
        scheme: the tagging scheme of the input, where tags are read; `None` to tell it from the tags.
        bare_tags: tags are labels without a prefix (`PER`, not `I-PER`).
        labels: the names of numbered labels, in order, where the files do not say them.
        write_scheme: the tagging scheme of the output.
    """

    scheme: Scheme | None = None
    bare_tags: bool = False
    labels: tuple[str, ...] = ()
    write_scheme: OutputScheme = "bio"


@dataclass(frozen=True)
class Target:
    """Where documents are written to."""

    path: Path
    outputs: Outputs
    options: Options
    notes: Notes


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes:
        name: what `--from` and `--to` call it.
        title: what people call it.
        keeps: what it can hold.
        sample: two lines or so, as they stand in a file.
        suffixes: file name endings that mean this format when writing.
        read: documents of a source, one by one.
        write: puts documents, fitted to `keeps`, into a target.
        sniff: whether the beginning of a file is in this format; must not be true of other formats' files.
        extra: the optional dependency that it needs.
        is_folder: it is written as a folder.
        has_tags: its spans are written as tags, in the scheme of the options.
    """

    name: str
    title: str
    keeps: Keeps
    sample: str
    read: Callable[[Source, Options], Iterator[Document]]
    write: Callable[[Iterable[Document], Target], None]
    sniff: Callable[[Head], bool]
    suffixes: tuple[str, ...] = ()
    extra: str | None = None
    is_folder: bool = False
    has_tags: bool = False


class Head:
    """The beginning of an input, looked at in several ways to tell its format."""

    def __init__(self, source: Source) -> None:
        self.path, self.suffix, self.is_folder = source.path, source.suffix, source.is_folder
        self.data = b"" if source.is_folder else source.head()

    @cached_property
    def lines(self) -> list[str]:
        """Complete lines, without line ends; blank ones too."""
        lines = self.data.decode("utf-8", errors="replace").split("\n")
        return [line.removesuffix("\r") for line in (lines[:-1] if len(lines) > 1 else lines)]

    @cached_property
    def filled_lines(self) -> list[str]:
        return [line for line in self.lines if line.strip()]

    @cached_property
    def record(self) -> dict[str, Any]:
        """The first JSON object of a JSON Lines file or a JSON array, or nothing."""
        start = self.data.lstrip()[:1]
        if start not in (b"{", b"["):
            return {}
        text = self.data.decode("utf-8", errors="replace").lstrip()
        text = text[1:].lstrip() if start == b"[" else text
        try:
            value, _ = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def columns(self) -> list[list[str]]:
        """Words of the first lines, cut at blanks, without document marks."""
        lines = self.filled_lines[:200]
        return [split_columns(line) for line in lines if not is_document_mark(line) and not is_comment(line)]


def is_document_mark(line: str) -> bool:
    return line.startswith(DOCUMENT_MARK) and line[len(DOCUMENT_MARK) :][:1] in ("", " ", "\t")


def is_comment(line: str) -> bool:
    """`# key = value`, as in CoNLL-U; a `#` alone is a word."""
    return _COMMENT.match(line) is not None


def split_columns(line: str) -> list[str]:
    """Columns of a line: cut at tabs where it has any (words may hold spaces then), else at spaces."""
    line = line.rstrip(" \t")
    if "\t" in line:
        return line.split("\t")
    columns = line.split(" ")
    return [column for column in columns if column] if "" in columns else columns
