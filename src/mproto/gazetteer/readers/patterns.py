"""spaCy's patterns: JSON Lines with `label` and `pattern`, as `EntityRuler` and Prodigy read them.

A pattern is a phrase, or a list of tokens with only `LOWER` or `TEXT` (`ORTH`). Other token
patterns are not supported.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.gazetteer.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.io.sources import Source

EXACT, LOWER = {"TEXT", "ORTH"}, {"LOWER"}


def read(source: Source, type_: str | None) -> Iterator[Entry]:
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            yield _entry(json.loads(line), type_, str(source.path), number)
        except InputError as error:
            source.notes.reject(error.at(source.path, number))
        except (ValueError, RecursionError) as error:
            source.notes.reject(source.error(f"is not valid JSON ({error})", number, "correct it"))


def _entry(record: Any, type_: str | None, file: str, line: int) -> Entry:
    if not isinstance(record, dict) or "pattern" not in record:
        raise InputError(
            "is not a spaCy pattern: it has no 'pattern'", hint='write {"label": "TYPE", "pattern": "term"}'
        )
    label = type_ or record.get("label")
    if not isinstance(label, str) or not label:
        raise InputError(f"the label is {label!r}", hint="give the pattern a label")
    pattern, identity = record["pattern"], str(record.get("id") or "")
    if isinstance(pattern, str):
        if not pattern.strip():
            raise InputError("the pattern is empty", hint="delete the line")
        return Entry(pattern.strip(), label, identity, None, file, line)
    words, exact = _words(pattern)
    return Entry(" ".join(words), label, identity, exact, file, line)


def _words(pattern: Any) -> tuple[list[str], bool]:
    """Return the words of a token pattern, and whether their case matters."""
    if not isinstance(pattern, list) or not pattern:
        raise InputError(f"the pattern is {json.dumps(pattern)[:60]}", hint="write a phrase or a list of tokens")
    words, kinds = [], set()
    for token in pattern:
        key, value = next(iter(token.items())) if isinstance(token, dict) and len(token) == 1 else (None, None)
        if key not in EXACT | LOWER or not isinstance(value, str) or not value:
            raise InputError(
                f"token pattern {json.dumps(token)[:60]} is not supported",
                hint='use only {"LOWER": …} and {"TEXT": …}, or write the pattern as a phrase',
            )
        words.append(value)
        kinds.add(key in EXACT)
    if len(kinds) > 1:
        raise InputError("the pattern mixes LOWER and TEXT", hint="use one of them for all tokens")
    return words, kinds.pop()
