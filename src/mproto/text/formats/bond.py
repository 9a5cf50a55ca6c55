"""BOND: a JSON array of sentences with `str_words` and numbered `tags`.

`tag_to_id.json` names the numbers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.io.sources import Source
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.fields import take, take_words
from mproto.text.formats.records import read_json, shorten, write_json_array
from mproto.text.formats.sidecar import locked_sidecar, read_numbers, write_sidecar
from mproto.text.formats.tag_reading import TagReader
from mproto.text.tagging import OUTSIDE, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TAG_NUMBERS = "tag_to_id.json"


def read(source: Source, options: Options) -> Iterator[Document]:
    numbers = read_numbers(source, source.path.with_name(TAG_NUMBERS))
    if numbers is None:
        raise source.error(f"has no {TAG_NUMBERS} next to it, which names its tags", hint="put it into the same folder")
    names = {number: name for name, number in numbers.items()}
    tags = TagReader(options)

    def parse(record: dict[str, Any]) -> Document:
        words, ids = take_words(record, "str_words"), take(record, "tags", list)
        if len(words) != len(ids):
            raise InputError(f"has {len(words)} words and {len(ids)} tags", hint="there must be one tag for each word")
        if unknown := [i for i in ids if type(i) is not int or i not in names]:
            raise InputError(f"tag {shorten(unknown[0])} is not in {TAG_NUMBERS}", hint="add it there")
        return Document.from_words(words, tags.spans([names[i] for i in ids]))

    yield from read_json(source, parse)
    tags.report(source.notes)


def write(documents: Iterable[Document], target: Target) -> None:
    path = locked_sidecar(target, TAG_NUMBERS)
    numbers = read_numbers(Source(path), path) or {OUTSIDE: 0}
    known = dict(numbers)

    def record(document: Document) -> dict[str, Any]:
        tags = encode(document.word_spans, len(document.words), target.options.write_scheme)
        return {
            "str_words": document.word_texts,
            "tags": [numbers.setdefault(tag, _next_number(numbers)) for tag in tags],
        }

    write_json_array(map(record, documents), target.outputs.open(target.path).write)
    if numbers != known or not path.exists():
        write_sidecar(target, path, json.dumps(numbers, ensure_ascii=False) + "\n")


def _next_number(numbers: dict[str, int]) -> int:
    return max(numbers.values()) + 1


def sniff(head: Head) -> bool:
    return {"str_words", "tags"} <= set(head.record)


FORMAT = Format(
    name="bond",
    title="BOND JSON, with tag_to_id.json",
    keeps=Keeps.WORDS | Keeps.ANY_WORD | Keeps.ANY_LABEL | Keeps.SPANS | Keeps.TOUCHING | Keeps.EMPTY,
    sample='[{"str_words": ["Aspirin", "helps"], "tags": [1, 0]},\n {"str_words": ["No", "drug"], "tags": [0, 0]}]',
    read=read,
    write=write,
    sniff=sniff,
    has_tags=True,
)
