"""skweak's gazetteers: a JSON object of types and lists of terms (strings or lists of words)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mproto.gazetteer.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.io.sources import Source

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\n')


def read(source: Source, type_: str | None) -> Iterator[Entry]:
    text = source.text()
    try:
        types = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise source.error(f"is not valid JSON ({error})", hint="correct it") from None
    if not isinstance(types, dict) or not all(isinstance(terms, list) for terms in types.values()):
        raise source.error("is not an object of term lists", hint='write {"TYPE": ["term", ["two", "words"]]}')
    lines = _lines(text)
    for name, terms in types.items():
        next(lines)
        for term in terms:
            words = [term] if isinstance(term, str) else term
            if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
                source.notes.reject(
                    source.error(
                        f"{json.dumps(term)[:60]} of {name} is not a term", hint="write a string or a list of words"
                    )
                )
                continue
            line, *_ = [next(lines, 1) for _ in words]
            if surface := " ".join(words).strip():
                yield Entry(surface, type_ or name, file=str(source.path), line=line)


def _lines(text: str) -> Iterator[int]:
    """Yield the line of every string in a JSON text, in order."""
    line = 1
    for part in _PART.finditer(text):
        if part[0] == "\n":
            line += 1
        else:
            yield line
