"""doccano: JSON Lines with `label`, a list of `[start, end, label]` in characters.

The reader also accepts `labels` and `entities` of older and newer exports, as lists or as objects
with `start_offset`, `end_offset` and `label`. Comments and relations are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.document import Document, Span
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.fields import edges_and_label, expect, take, take_id, with_id
from mproto.text.formats.json_text import dump_json
from mproto.text.formats.records import read_json_lines, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source

_LABEL_KEYS = ("label", "labels", "entities")
_OWN_KEYS = frozenset({"id", "text", "relations", "Comments", *_LABEL_KEYS})


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    def parse(record: dict[str, Any]) -> Document:
        for key, what in (("relations", "relations"), ("Comments", "comments")):
            source.notes.count(f"{what} were not read", len(expect(record.get(key) or [], list, f"{key!r}")))
        key, *others = [key for key in _LABEL_KEYS if key in record] or ["label"]
        source.notes.count(
            f"records have {' and '.join(others)} in addition to {key}, which were not read", bool(others)
        )
        return Document(
            text=take(record, "text", str),
            spans=tuple(_span(item) for item in take(record, key, list)),
            id=take_id(record),
            meta={key: value for key, value in record.items() if key not in _OWN_KEYS},
        )

    return read_json_lines(source, parse)


def _span(item: object) -> Span:
    if isinstance(item, dict):
        return Span(*edges_and_label(item, "start_offset", "end_offset"))
    if not isinstance(item, list) or len(item) != 3:
        raise InputError(f"label {shorten(item)} is not [start, end, label]", hint="correct it")
    return Span(expect(item[0], int, "a start"), expect(item[1], int, "an end"), expect(item[2], str, "a label"))


def write(documents: Iterable[Document], target: Target) -> None:
    stream = target.outputs.open(target.path)
    for document in documents:
        record = with_id(document, {"text": document.text, "label": document.spans}) | dict(document.meta)
        stream.write(f"{dump_json(record)}\n".encode())


def sniff(head: Head) -> bool:
    record = head.record
    other_keys = {"tokens", "annotation_id", "words", "gold"}  # Prodigy, Label Studio, this project's JSON Lines
    return (
        "text" in record and not other_keys & set(record) and any(isinstance(record.get(k), list) for k in _LABEL_KEYS)
    )


FORMAT = Format(
    name="doccano",
    title="doccano JSON Lines",
    keeps=~(Keeps.WORDS | Keeps.GOLD),
    sample='{"id": 7, "text": "Aspirin for headache", "label": [[0, 7, "Chemical"], [12, 20, "Disease"]]}\n'
    '{"id": 8, "text": "No drug here.", "label": []}',
    read=read,
    write=write,
    sniff=sniff,
)
