"""Prodigy: JSON Lines with `text`, `tokens` and `spans` in characters.

Tasks that were rejected or ignored have no usable labels and are left out. `token_end` is
inclusive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.fields import SPAN_KEYS, expect, spans_of, take, take_id, with_id
from mproto.text.formats.json_text import dump_json
from mproto.text.formats.records import read_json_lines
from mproto.text.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source

_SPAN_KEYS = SPAN_KEYS | {"token_start", "token_end", "text", "source"}
_OWN_KEYS = frozenset({"id", "text", "spans", "tokens", "answer"})


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    def parse(record: dict[str, Any]) -> Document | None:
        if (answer := record.get("answer", "accept")) != "accept":
            source.notes.count(f"tasks with the answer {answer!r} were left out")
            return None
        tokens = record.get("tokens")
        return Document(
            text=take(record, "text", str),
            spans=spans_of(expect(record.get("spans") or [], list, "'spans'"), source.notes, _SPAN_KEYS),
            given_words=None if tokens is None else tuple(map(_word, expect(tokens, list, "'tokens'"))),
            id=take_id(record),
            meta={key: value for key, value in record.items() if key not in _OWN_KEYS},
        )

    return read_json_lines(source, parse)


def _word(token: object) -> Word:
    record = expect(token, dict, "a token")
    start, end = record.get("start"), record.get("end")
    if type(start) is int and type(end) is int:  # fast path: most of the work of reading
        return Word(start, end)
    return Word(take(record, "start", int), take(record, "end", int))


def to_record(document: Document) -> dict[str, Any]:
    record: dict[str, Any] = {"text": document.text}
    if document.given_words is not None:
        record["tokens"] = [
            {
                "text": document.text[w.start : w.end],
                "start": w.start,
                "end": w.end,
                "id": i,
                "ws": _space_follows(document, w),
            }
            for i, w in enumerate(document.given_words)
        ]
        starts = {word.start: i for i, word in enumerate(document.given_words)}
        ends = {word.end: i for i, word in enumerate(document.given_words)}
        record["spans"] = [
            span._asdict() | ({"token_start": starts[span.start], "token_end": ends[span.end]} if fits else {})
            for span in document.spans
            for fits in [span.start in starts and span.end in ends]
        ]
    else:
        record["spans"] = [span._asdict() for span in document.spans]
    return with_id(document, record) | dict(document.meta) | {"answer": "accept"}


def _space_follows(document: Document, word: Word) -> bool:
    return document.text[word.end : word.end + 1] == " "


def write(documents: Iterable[Document], target: Target) -> None:
    stream = target.outputs.open(target.path)
    for document in documents:
        stream.write(f"{dump_json(to_record(document))}\n".encode())


def sniff(head: Head) -> bool:
    if {"words", "gold"} & head.record.keys():  # this project's JSON Lines, with metadata from Prodigy
        return False
    return "text" in head.record and bool({"tokens", "answer", "_task_hash"} & set(head.record))


FORMAT = Format(
    name="prodigy",
    title="Prodigy JSON Lines",
    keeps=~Keeps.GOLD,
    sample='{"text": "Aspirin helps", "spans": [{"start": 0, "end": 7, "label": "Chemical"}], "answer": "accept"}\n'
    '{"text": "No drug here.", "spans": [], "answer": "accept"}',
    read=read,
    write=write,
    sniff=sniff,
)
