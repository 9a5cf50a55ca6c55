"""Which formats there are, and how one is found: by name, by content, or by the ending of a file to be written."""

from __future__ import annotations

import difflib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mproto.errors import InputError, Notes
from mproto.io.outputs import Outputs
from mproto.io.sources import Source
from mproto.text.formats import (
    arrow,
    autoner,
    bond,
    brat,
    conf_mpu,
    conll,
    docbin,
    doccano,
    gliner,
    jsonl,
    jsonl_words,
    label_studio,
    plain,
    prodigy,
    roster,
    text_folder,
)
from mproto.text.formats.base import Format, Head, Options, Target
from mproto.text.formats.fitting import fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.text.document import Document

_FORMATS = {
    format.name: format
    for format in (
        plain.FORMAT,
        text_folder.FORMAT,
        jsonl.FORMAT,
        jsonl_words.FORMAT,
        doccano.FORMAT,
        prodigy.FORMAT,
        label_studio.FORMAT,
        brat.FORMAT,
        conll.FORMAT,
        docbin.FORMAT,
        arrow.PARQUET,
        arrow.ARROW,
        bond.FORMAT,
        roster.FORMAT,
        conf_mpu.FORMAT,
        autoner.FORMAT,
        gliner.FORMAT,
    )
}

_PLAIN = (plain.FORMAT.name, text_folder.FORMAT.name)
_JSON_LINES = ("jsonl", "jsonl-words", "doccano", "prodigy")


class Written(NamedTuple):
    """How much was written."""

    documents: int
    spans: int


def formats() -> list[Format]:
    """All formats, in the order in which they are shown."""
    return list(_FORMATS.values())


def get_format(name: str) -> Format:
    if name in _FORMATS:
        return _FORMATS[name]
    near = difflib.get_close_matches(name, _FORMATS, 1)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(_FORMATS)}"
    raise InputError(f"there is no format {name!r}", hint=hint)


def detect(source: Source) -> Format:
    """The format of an input, told from its content.

    Raises:
        InputError: no format fits, or more than one does.
    """
    if not source.is_stdin and not source.path.exists():
        raise source.error("no such file or folder", hint="check the path")
    head = Head(source)
    found = [format for format in formats() if format.sniff(head)]
    if not found and head.suffix in plain.FORMAT.suffixes and b"\0" not in head.data:
        return plain.FORMAT
    if len(found) != 1:
        why, hint = "its format cannot be told from its content", f"name it with --from ({', '.join(_FORMATS)})"
        if found:
            why = f"it could be {' or '.join(format.name for format in found)}"
        elif not source.is_folder:
            hint = f"pass --from text if it is plain text, a document a line, or {hint}"
        raise source.error(why, hint=hint)
    return found[0]


def find_format(source: Source, format: Format | str | None = None) -> Format:
    """Return the format of an input: the one that was named, or else the one detected from its content.

    Raises:
        InputError: there is no format of that name, or the content does not tell.
    """
    return get_format(format) if isinstance(format, str) else format or detect(source)


def format_for_output(path: Path | str, read_format: Format | None = None) -> Format:
    """The format to write, told from the ending of the file; the one that was read where the ending leaves it open."""
    name = Path(path).name.removesuffix(".gz").lower()
    if read_format and read_format.name in _JSON_LINES and name.endswith(jsonl.FORMAT.suffixes):
        return read_format
    endings = {ending: format for format in formats() for ending in format.suffixes}
    fitting = [ending for ending in endings if name.endswith(ending)]
    if fitting:
        return endings[max(fitting, key=len)]
    if read_format and not Path(name).suffix:
        return read_format
    raise InputError(
        "the format to write cannot be told from the name", path=path, hint=f"name it with --to ({', '.join(_FORMATS)})"
    )


def format_for_labels(path: Path | str, read_format: Format, name: str | None = None) -> Format:
    """The format to write newly labelled documents in: plain text cannot hold labels, and becomes JSON Lines."""
    if name is not None:
        return get_format(name)
    has_ending = Path(Path(path).name.removesuffix(".gz")).suffix
    if read_format.name in _PLAIN and not has_ending:
        return jsonl.FORMAT
    found = format_for_output(path, read_format)
    if found.name in _PLAIN:
        hint = "call it .jsonl, or name a format with --to"
        raise InputError("plain text, which the name says, cannot hold labels", path=path, hint=hint)
    return found


def read_documents(
    source: Source | Path | str,
    format: Format | str | None = None,
    options: Options = Options(),
) -> Iterator[Document]:
    """Documents of a file or folder, one by one; the format is told from the content where it is not given.

    Given a path, everything that could not be read as it stands there is said in a warning at the end. Given a `Source`,
    its notes have it.
    """
    own_source = not isinstance(source, Source)
    source = source if isinstance(source, Source) else Source(source)
    yield from find_format(source, format).read(source, options)
    if own_source:
        _warn(source.notes, source.path)


def write_documents(
    documents: Iterable[Document],
    path: Path | str,
    format: Format | str | None = None,
    options: Options = Options(),
    *,
    force: bool = False,
    notes: Notes | None = None,
) -> Written:
    """Write documents to a file or folder, whole or not at all, and say how many there were.

    What the format cannot hold is counted in `notes`, or said in a warning where none are given.
    """
    path = Path(path)
    format = get_format(format) if isinstance(format, str) else format or format_for_output(path)
    kept_notes = notes or Notes()
    count = spans = 0

    def counted() -> Iterator[Document]:
        nonlocal count, spans
        for document in fit(documents, format, options, kept_notes):
            count += 1
            spans += len(document.spans)
            yield document

    with Outputs(force=force) as outputs:
        format.write(counted(), Target(path, outputs, options, kept_notes))
    if notes is None:
        _warn(kept_notes, path)
    return Written(count, spans)


def _warn(notes: Notes, path: Path) -> None:
    for message in notes.messages():
        warnings.warn(f"{path}: {message}", stacklevel=3)
