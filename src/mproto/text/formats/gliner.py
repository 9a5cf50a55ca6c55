"""GLiNER training data: a JSON array with `tokenized_text` and `ner`.

An entity in `ner` is `[first, last, label]`, in words; last is inclusive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.document import Document, WordSpan
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.fields import expect, take, take_words
from mproto.text.formats.records import read_json, shorten, write_json_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    def parse_and_count(record: dict[str, Any]) -> Document:
        source.notes.count("further keys of records were not read", len(record.keys() - {"tokenized_text", "ner"}))
        return parse(record)

    return read_json(source, parse_and_count)


def parse(record: dict[str, Any]) -> Document:
    return Document.from_words(take_words(record, "tokenized_text"), map(_span, take(record, "ner", list)))


def _span(item: object) -> WordSpan:
    if not isinstance(item, list) or len(item) != 3:
        raise InputError(f"'ner' holds {shorten(item)}, and must hold [first, last, label]", hint="correct it")
    first, last, label = item
    return WordSpan(
        expect(first, int, "a first word"), expect(last, int, "a last word") + 1, expect(label, str, "a label")
    )


def _record(document: Document) -> dict[str, Any]:
    spans = [[span.start, span.end - 1, span.label] for span in document.word_spans]
    return {"tokenized_text": document.word_texts, "ner": spans}


def write(documents: Iterable[Document], target: Target) -> None:
    write_json_array(map(_record, documents), target.outputs.open(target.path).write)


def sniff(head: Head) -> bool:
    return "tokenized_text" in head.record


FORMAT = Format(
    name="gliner",
    title="GLiNER JSON",
    keeps=Keeps.WORDS | Keeps.ANY_WORD | Keeps.ANY_LABEL | Keeps.SPANS | Keeps.OVERLAPS | Keeps.TOUCHING | Keeps.EMPTY,
    sample='[{"tokenized_text": ["Aspirin", "helps"], "ner": [[0, 0, "Chemical"]]},\n'
    ' {"tokenized_text": ["No", "drug"], "ner": []}]',
    read=read,
    write=write,
    sniff=sniff,
)
