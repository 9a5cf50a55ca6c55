"""This project's JSON Lines format: text, and spans in characters.

Keys: `text`; `spans`, objects with `start`, `end` and `label`; optionally `id`, `gold` (human spans
in addition to distant ones) and `words` (pairs of offsets, if the text was already split into
words). Other keys are kept as metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.fields import expect, span_records, spans_of, take, take_id, with_id
from mproto.text.formats.json_text import dump_json
from mproto.text.formats.records import read_json_lines, shorten
from mproto.text.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source

_OWN_KEYS = frozenset({"id", "text", "spans", "gold", "words"})


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    def parse(record: dict[str, Any]) -> Document:
        words = record.get("words")
        gold = record.get("gold")
        return Document(
            text=take(record, "text", str),
            spans=spans_of(expect(record.get("spans") or [], list, "'spans'"), source.notes),
            given_words=None if words is None else tuple(map(_word, expect(words, list, "'words'"))),
            id=take_id(record),
            gold=None if gold is None else spans_of(expect(gold, list, "'gold'"), source.notes),
            meta={key: value for key, value in record.items() if key not in _OWN_KEYS},
        )

    return read_json_lines(source, parse)


def _word(pair: object) -> Word:
    if not isinstance(pair, list) or len(pair) != 2:
        raise InputError(f"the word {shorten(pair)} is not [start, end]", hint="correct it")
    start, end = pair
    if type(start) is int and type(end) is int:  # fast path: most of the work of reading
        return Word(start, end)
    return Word(expect(start, int, "a word's start"), expect(end, int, "a word's end"))


def to_record(document: Document) -> dict[str, Any]:
    record = with_id(document, {"text": document.text, "spans": span_records(document.spans)})
    if document.gold is not None:
        record["gold"] = span_records(document.gold)
    if document.given_words is not None:
        record["words"] = document.given_words
    return record | dict(document.meta)


def write(documents: Iterable[Document], target: Target) -> None:
    stream = target.outputs.open(target.path)
    for document in documents:
        stream.write(f"{dump_json(to_record(document))}\n".encode())


def sniff(head: Head) -> bool:
    record = head.record
    if {"words", "gold"} & record.keys():
        return "text" in record
    other_tools = {"label", "labels", "entities", "tokens", "answer", "_task_hash", "data", "annotations"}
    return head.data.lstrip()[:1] == b"{" and "text" in record and not other_tools & set(record)


FORMAT = Format(
    name="jsonl",
    title="JSON Lines with spans in characters",
    keeps=~Keeps(0),
    sample='{"id": "7", "text": "Aspirin for headache", "spans": [{"start": 0, "end": 7, "label": "Chemical"}]}\n'
    '{"id": "8", "text": "No drug here.", "spans": []}',
    read=read,
    write=write,
    sniff=sniff,
    suffixes=(".jsonl", ".ndjson"),
)
