"""The description of a file format: how to read, write and detect it, and what it can hold."""

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
"""Keys with a meaning in at least one JSON format. Metadata under such a key could be misread."""


class Keeps(Flag):
    """The features that a format can hold. They survive a round trip.

    Losses are counted when documents are written.
    """

    TEXT = auto()  # the exact text
    WORDS = auto()  # the given words
    ANY_WORD = auto()  # words that contain white space
    SPANS = auto()
    CUTS = auto()  # spans that start or end inside a word
    OVERLAPS = auto()  # overlapping spans
    TOUCHING = auto()  # adjacent spans of one label
    ANY_LABEL = auto()  # labels that contain white space or commas
    GOLD = auto()  # human labels in addition to distant ones
    IDS = auto()
    META = auto()
    EMPTY = auto()  # documents without words


@dataclass(frozen=True)
class Options:
    """Options of readers and writers.

    Attributes:
        scheme: the tagging scheme of the input; `None` to detect it from the tags.
        bare_tags: whether tags are labels without a prefix (`PER`, not `I-PER`).
        labels: the names of numbered labels, in order, for files without names.
        write_scheme: the tagging scheme of the output.
    """

    scheme: Scheme | None = None
    bare_tags: bool = False
    labels: tuple[str, ...] = ()
    write_scheme: OutputScheme = "bio"


@dataclass(frozen=True)
class Target:
    """The output that documents are written to, with options."""

    path: Path
    outputs: Outputs
    options: Options
    notes: Notes


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes:
        name: its name for `--from` and `--to`.
        title: its descriptive name.
        keeps: the features that it can hold.
        sample: a few lines of a file.
        suffixes: file name endings that select this format when writing.
        read: reads the documents of a source, one by one.
        write: writes documents, already adapted to `keeps`, to a target.
        sniff: whether the start of a file is in this format; must be false for files of other
            formats.
        extra: the name of the extra with its optional dependency.
        is_folder: whether it is written as a folder.
        has_tags: whether its spans are written as tags, in the scheme of the options.
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
    """The start of an input, parsed in several ways to detect its format."""

    def __init__(self, source: Source) -> None:
        self.path, self.suffix, self.is_folder = source.path, source.suffix, source.is_folder
        self.data = b"" if source.is_folder else source.head()

    @cached_property
    def lines(self) -> list[str]:
        """Complete lines, blank ones included, without line ends."""
        lines = self.data.decode("utf-8", errors="replace").split("\n")
        return [line.removesuffix("\r") for line in (lines[:-1] if len(lines) > 1 else lines)]

    @cached_property
    def nonblank_lines(self) -> list[str]:
        return [line for line in self.lines if line.strip()]

    @cached_property
    def record(self) -> dict[str, Any]:
        """The first JSON object of a JSON Lines file or a JSON array; empty if there is none."""
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
        """The columns of the first lines, without document marks and comments."""
        lines = self.nonblank_lines[:200]
        return [split_columns(line) for line in lines if not is_document_mark(line) and not is_comment(line)]


def is_document_mark(line: str) -> bool:
    return line.startswith(DOCUMENT_MARK) and line[len(DOCUMENT_MARK) :][:1] in ("", " ", "\t")


def is_comment(line: str) -> bool:
    """Whether a line is `# key = value`, as in CoNLL-U; a single `#` is a word."""
    return _COMMENT.match(line) is not None


def split_columns(line: str) -> list[str]:
    """Split a line at tabs if it has any (then words may contain spaces), else at spaces."""
    line = line.rstrip(" \t")
    if "\t" in line:
        return line.split("\t")
    columns = line.split(" ")
    return [column for column in columns if column] if "" in columns else columns
