"""Take values out of JSON records, with errors that name the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mproto.errors import InputError
from mproto.text.document import Span
from mproto.text.formats.records import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mproto.errors import Notes
    from mproto.text.document import Document

T = TypeVar("T")

_NAMES = {str: "a string", int: "a whole number", list: "a list", dict: "an object"}


def take(record: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """The value under a key, of the kind that it must be."""
    if key not in record:
        found = ", ".join(map(repr, record)) or "none"
        raise InputError(f"has no {key!r} (its keys: {found})", hint="add it, or name another format with --from")
    return expect(record[key], kind, f"{key!r}")


def expect(value: object, kind: type[T], what: str) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{what} is {shorten(value)}, and must be {_NAMES[kind]}", hint="correct the value")
    return value


def take_words(record: Mapping[str, Any], key: str) -> list[str]:
    words = take(record, key, list)
    if words and set(map(type, words)) != {str}:
        wrong = next(word for word in words if type(word) is not str)
        raise InputError(f"{key!r} holds {shorten(wrong)}, and must hold strings only", hint="correct the value")
    return words


def take_id(record: Mapping[str, Any], key: str = "id") -> str:
    """The id as a string; tools write numbers too."""
    value = record.get(key)
    return "" if value is None else value if isinstance(value, str) else shorten(value)


def edges_and_label(
    record: object, start: str = "start", end: str = "end", label: str = "label"
) -> tuple[int, int, str]:
    """What a span is made of, from an object."""
    if not isinstance(record, dict):
        raise InputError(f"a span is {shorten(record)}, and must be an object", hint="correct the value")
    first, last, name = record.get(start), record.get(end), record.get(label)
    if (
        type(first) is int and type(last) is int and type(name) is str
    ):  # the common case, and most of the work of reading
        return first, last, name
    return take(record, start, int), take(record, end, int), take(record, label, str)


SPAN_KEYS = frozenset({"start", "end", "label"})


def spans_of(records: Sequence[Any], notes: Notes, known: frozenset[str] = SPAN_KEYS) -> tuple[Span, ...]:
    """Spans written as objects with `start`, `end` and `label`; what else they say is counted, and not kept."""
    spans = []
    for record in records:
        spans.append(Span(*edges_and_label(record)))
        if len(record) > len(SPAN_KEYS):
            notes.count("further attributes of spans were not read", len(record.keys() - known))
    return tuple(spans)


def span_records(spans: Sequence[Span]) -> list[dict[str, Any]]:
    return [span._asdict() for span in spans]


def with_id(document: Document, record: dict[str, Any]) -> dict[str, Any]:
    """A record with the document's id in front, where it has one."""
    return {"id": document.id, **record} if document.id else record
