"""Label Studio tasks: a JSON array with `data` and `annotations`; spans under `result[].value`.

The first annotation that was not cancelled is read. Like a browser, Label Studio counts offsets in
UTF-16 units, so they differ from Python's after an emoji. Offsets are read and written in UTF-16
units. They are read as characters if only that gives the surface text that the file records for the
span. JSON_MIN exports (`label` and `text` in one object) are read too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.document import Document, Span
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.fields import expect, take, take_id, with_id
from mproto.text.formats.records import read_json, write_json_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.errors import Notes
    from mproto.io.sources import Source

JSON_MIN_KEYS = frozenset(
    {"id", "label", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"}
)


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    notes = source.notes

    def parse(record: dict[str, Any]) -> Document | None:
        if "data" not in record:
            values = expect(record.get("label") or [], list, "'label'")
            data = {key: value for key, value in record.items() if key not in JSON_MIN_KEYS}
        else:
            data = take(record, "data", dict)
            annotated = _values(record, notes)
            if annotated is None:
                notes.count("cancelled tasks were left out")
                return None
            values = annotated
        text = take(data, "text", str)
        spans = tuple(span for value in values for span in _spans(expect(value, dict, "a label"), text, notes))
        meta = {key: value for key, value in data.items() if key != "text"}
        return Document(text, spans, id=take_id(record), meta=meta)

    return read_json(source, parse)


def _values(record: dict[str, Any], notes: Notes) -> list[Any] | None:
    """Return the values of the first annotation not cancelled; `None` if all were cancelled."""
    annotations = expect(record.get("annotations") or [], list, "'annotations'")
    done = [a for a in annotations if not expect(a, dict, "an annotation").get("was_cancelled")]
    if annotations and not done:
        return None
    notes.count("further annotations of a task were not read", max(0, len(done) - 1))
    notes.count("tasks have predictions only, which were not read", not done and bool(record.get("predictions")))
    results = take(done[0], "result", list) if done else []
    labels = [r for r in results if expect(r, dict, "a result").get("type", "labels") == "labels"]
    notes.count("results that are not span labels were not read", len(results) - len(labels))
    return [take(result, "value", dict) for result in labels]


def _spans(value: dict[str, Any], text: str, notes: Notes) -> Iterator[Span]:
    start, end = take(value, "start", int), take(value, "end", int)
    surface = value.get("text")
    readings = [r for r in (_from_utf16(text, start, end), (start, end)) if r and r[1] <= len(text)]
    matching = [r for r in readings if surface is None or _is_same_text(surface, text[slice(*r)])]
    if matching:
        start, end = matching[0]
    elif surface is not None:
        raise InputError(
            f"span {start}–{end} is {text[start:end]!r} in the text and not {surface!r}", hint="correct it"
        )
    labels = expect(value.get("labels") or [], list, "'labels'")
    notes.count("regions without a label were not read", not labels)
    for label in labels:
        yield Span(start, end, expect(label, str, "a label"))


def _is_same_text(one: object, other: str) -> bool:
    """Whether two texts are equal apart from white space.

    Exports collapse white space, and write line ends as a backslash and an n.
    """
    return "".join(str(one).replace("\\n", " ").split()) == "".join(other.split())


def _from_utf16(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Convert UTF-16 offsets to characters; `None` if they are invalid or split a character."""
    data = text.encode("utf-16-le")
    if not 0 <= start < end <= len(data) // 2:
        return None
    try:
        return len(data[: 2 * start].decode("utf-16-le")), len(data[: 2 * end].decode("utf-16-le"))
    except UnicodeDecodeError:
        return None


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _record(document: Document) -> dict[str, Any]:
    result = [
        {
            "id": f"s{i}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {
                "start": _utf16_length(document.text[: span.start]),
                "end": _utf16_length(document.text[: span.end]),
                "text": document.surface(span),
                "labels": [span.label],
            },
        }
        for i, span in enumerate(document.spans)
    ]
    data = {"text": document.text, **document.meta}
    return with_id(document, {"data": data, "annotations": [{"result": result, "was_cancelled": False}]})


def write(documents: Iterable[Document], target: Target) -> None:
    write_json_array(map(_record, documents), target.outputs.open(target.path).write)


def sniff(head: Head) -> bool:
    record = head.record
    full = isinstance(record.get("data"), dict) and "text" in record["data"]
    return full or ("annotation_id" in record and "text" in record)


FORMAT = Format(
    name="label-studio",
    title="Label Studio tasks",
    keeps=~(Keeps.WORDS | Keeps.GOLD),
    sample='[{"id": 7, "data": {"text": "Aspirin helps"}, "annotations": [{"result": [{"type": "labels",\n'
    '  "value": {"start": 0, "end": 7, "text": "Aspirin", "labels": ["Chemical"]}}]}]}]',
    read=read,
    write=write,
    sniff=sniff,
)
