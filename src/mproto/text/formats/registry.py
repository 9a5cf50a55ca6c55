"""All formats, and how to choose one: by name, by content, or by the ending of an output file."""

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
from mproto.text.formats.adapt import adapt
from mproto.text.formats.base import Format, Head, Options, Target

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
    """The number of documents and spans written."""

    documents: int
    spans: int


def formats() -> list[Format]:
    """Return all formats, in the order in which they are listed."""
    return list(_FORMATS.values())


def get_format(name: str) -> Format:
    if name in _FORMATS:
        return _FORMATS[name]
    near = difflib.get_close_matches(name, _FORMATS, 1)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(_FORMATS)}"
    raise InputError(f"there is no format {name!r}", hint=hint)


def detect(source: Source) -> Format:
    """Detect the format of an input from its content.

    Raises:
        InputError: no format matches, or more than one does.
    """
    if not source.is_stdin and not source.path.exists():
        raise source.error("no such file or folder", hint="check the path")
    head = Head(source)
    candidates = [format for format in formats() if format.sniff(head)]
    if not candidates and head.suffix in plain.FORMAT.suffixes and b"\0" not in head.data:
        return plain.FORMAT
    if len(candidates) != 1:
        why, hint = "its format cannot be detected from its content", f"name it with --from ({', '.join(_FORMATS)})"
        if candidates:
            why = f"it could be {' or '.join(format.name for format in candidates)}"
        elif not source.is_folder:
            hint = f"pass --from text if it is plain text with one document per line, or {hint}"
        raise source.error(why, hint=hint)
    return candidates[0]


def find_format(source: Source, format: Format | str | None = None) -> Format:
    """Return the format of an input: the one that was named, or else the one detected from its content.

    Raises:
        InputError: there is no format of that name, or none can be detected.
    """
    return get_format(format) if isinstance(format, str) else format or detect(source)


def format_for_output(path: Path | str, read_format: Format | None = None) -> Format:
    """Choose the output format by the file name ending.

    If the ending does not identify a format, the output has the format of the input.
    """
    name = Path(path).name.removesuffix(".gz").lower()
    if read_format and read_format.name in _JSON_LINES and name.endswith(jsonl.FORMAT.suffixes):
        return read_format
    endings = {ending: format for format in formats() for ending in format.suffixes}
    matching = [ending for ending in endings if name.endswith(ending)]
    if matching:
        return endings[max(matching, key=len)]
    if read_format and not Path(name).suffix:
        return read_format
    raise InputError(
        "the output format cannot be determined from the file name",
        path=path,
        hint=f"name it with --to ({', '.join(_FORMATS)})",
    )


def format_for_labels(path: Path | str, read_format: Format, name: str | None = None) -> Format:
    """Choose the output format of labelled documents.

    Plain text cannot hold labels, so its output is JSON Lines.
    """
    if name is not None:
        return get_format(name)
    has_ending = Path(Path(path).name.removesuffix(".gz")).suffix
    if read_format.name in _PLAIN and not has_ending:
        return jsonl.FORMAT
    chosen = format_for_output(path, read_format)
    if chosen.name in _PLAIN:
        hint = "use the ending .jsonl, or name a format with --to"
        raise InputError("the ending means plain text, which cannot hold labels", path=path, hint=hint)
    return chosen


def read_documents(
    source: Source | Path | str,
    format: Format | str | None = None,
    options: Options = Options(),
) -> Iterator[Document]:
    """Read the documents of a file or folder, one by one. The format is detected by default.

    Losses are counted in the notes of the `Source`. With a path, a warning at the end reports them.
    """
    is_path = not isinstance(source, Source)
    source = source if isinstance(source, Source) else Source(source)
    yield from find_format(source, format).read(source, options)
    if is_path:
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
    """Write documents to a file or folder. The output is written completely or not at all.

    Losses are counted in `notes`. Without `notes`, a warning reports them.

    Returns:
        The number of documents and spans written.
    """
    path = Path(path)
    format = get_format(format) if isinstance(format, str) else format or format_for_output(path)
    losses = notes or Notes()
    count = spans = 0

    def counted() -> Iterator[Document]:
        nonlocal count, spans
        for document in adapt(documents, format, options, losses):
            count += 1
            spans += len(document.spans)
            yield document

    with Outputs(force=force) as outputs:
        format.write(counted(), Target(path, outputs, options, losses))
    if notes is None:
        _warn(losses, path)
    return Written(count, spans)


def _warn(notes: Notes, path: Path) -> None:
    for message in notes.messages():
        warnings.warn(f"{path}: {message}", stacklevel=3)
