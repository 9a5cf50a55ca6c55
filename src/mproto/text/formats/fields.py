"""Read values from JSON records, with errors that name the key."""

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
    """Return the value of a key.

    Raises:
        InputError: the key is missing, or its value is not of this kind.
    """
    if key not in record:
        keys = ", ".join(map(repr, record)) or "none"
        raise InputError(f"has no {key!r} (its keys: {keys})", hint="add it, or name another format with --from")
    return expect(record[key], kind, f"{key!r}")


def expect(value: object, kind: type[T], what: str) -> T:
    """Return a value if it is of this kind; `what` names it in the error message."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{what} is {shorten(value)}, and must be {_NAMES[kind]}", hint="correct the value")
    return value


def take_words(record: Mapping[str, Any], key: str) -> list[str]:
    words = take(record, key, list)
    if words and set(map(type, words)) != {str}:
        invalid = next(word for word in words if type(word) is not str)
        raise InputError(f"{key!r} holds {shorten(invalid)}, and must hold strings only", hint="correct the value")
    return words


def take_id(record: Mapping[str, Any], key: str = "id") -> str:
    """Return the id as a string; some tools write numbers."""
    value = record.get(key)
    return "" if value is None else value if isinstance(value, str) else shorten(value)


def edges_and_label(
    record: object, start: str = "start", end: str = "end", label: str = "label"
) -> tuple[int, int, str]:
    """Return the start, end and label of a span object; the arguments are the names of its keys."""
    if not isinstance(record, dict):
        raise InputError(f"a span is {shorten(record)}, and must be an object", hint="correct the value")
    first, last, name = record.get(start), record.get(end), record.get(label)
    if type(first) is int and type(last) is int and type(name) is str:  # fast path: most of the work of reading
        return first, last, name
    return take(record, start, int), take(record, end, int), take(record, label, str)


SPAN_KEYS = frozenset({"start", "end", "label"})


def spans_of(records: Sequence[Any], notes: Notes, known: frozenset[str] = SPAN_KEYS) -> tuple[Span, ...]:
    """Return spans from objects with `start`, `end` and `label`; count other keys and drop them."""
    spans = []
    for record in records:
        spans.append(Span(*edges_and_label(record)))
        if len(record) > len(SPAN_KEYS):
            notes.count("further attributes of spans were not read", len(record.keys() - known))
    return tuple(spans)


def span_records(spans: Sequence[Span]) -> list[dict[str, Any]]:
    return [span._asdict() for span in spans]


def with_id(document: Document, record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the document's id as its first key, if the document has one."""
    return {"id": document.id, **record} if document.id else record
