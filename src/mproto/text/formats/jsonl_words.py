"""JSON Lines with spans in words: the format of the data sets published with the paper.

Keys: `tokens`; `entities`, objects with `start` and `end` (exclusive, in words) and `type`;
optionally `id`, and `human_entities` if the entities are distant labels and human ones exist too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.text.document import NO_META, Document, WordSpan
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.fields import edges_and_label, expect, take, take_id, take_words, with_id
from mproto.text.formats.json_text import dump_line
from mproto.text.formats.records import read_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mproto.io.sources import Source

_OWN_KEYS = frozenset({"tokens", "entities", "human_entities", "id"})


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    return read_json_lines(source, parse, _OWN_KEYS)


def parse(record: dict[str, Any]) -> Document:
    human = record.get("human_entities")
    return Document.from_words(
        take_words(record, "tokens"),
        _spans(take(record, "entities", list)),
        id=take_id(record),
        gold=None if human is None else _spans(expect(human, list, "'human_entities'")),
        meta=NO_META if record.keys() <= _OWN_KEYS else {k: v for k, v in record.items() if k not in _OWN_KEYS},
    )


def _spans(records: Sequence[Any]) -> list[WordSpan]:
    return [WordSpan(*edges_and_label(record, label="type")) for record in records]


def _records(spans: Sequence[WordSpan]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "type": label} for start, end, label in spans]


def to_record(document: Document) -> dict[str, Any]:
    record: dict[str, Any] = {"tokens": document.word_texts, "entities": _records(document.word_spans)}
    gold = document.gold_word_spans
    if gold is not None:
        record["human_entities"] = _records(gold)
    return with_id(document, record) | dict(document.meta)


def write(documents: Iterable[Document], target: Target) -> None:
    stream = target.outputs.open(target.path)
    for document in documents:
        stream.write(dump_line(to_record(document), small_ints=not document.meta))


def sniff(head: Head) -> bool:
    return {"tokens", "entities"} <= set(head.record) and "text" not in head.record


FORMAT = Format(
    name="jsonl-words",
    title="JSON Lines with spans in words, as published with MProto",
    keeps=~(Keeps.TEXT | Keeps.CUTS),
    sample='{"id": "7", "tokens": ["Aspirin", "for", "headache"], "entities": [{"start": 0, "end": 1, "type": "Chemical"}]}\n'
    '{"id": "8", "tokens": ["No", "drug"], "entities": []}',
    read=read,
    write=write,
    sniff=sniff,
)
