"""Parse and write one line of JSON.

orjson is several times as fast as Python's json, and is used where both give the same result.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_load = json.JSONDecoder().decode
dump_json = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
"""Write JSON without escaping non-ASCII characters."""
_dump_compact = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def load_json(line: str, small_int_keys: AbstractSet[str] = frozenset()) -> object:
    """Parse a line.

    Args:
        line: one JSON value.
        small_int_keys: keys whose values never contain integers beyond 64 bits, which orjson would
            round. A record with other keys is parsed by Python's json.

    Raises:
        ValueError, RecursionError: the line is not valid JSON.
    """
    if small_int_keys:
        try:
            record = orjson.loads(line)
        except ValueError:  # Python's json has the better message, and accepts NaN and lone surrogates
            return _load(line)
        if type(record) is dict and record.keys() <= small_int_keys and type(record.get("id")) is not float:
            return record
    return _load(line)


def dump_line(record: dict[str, Any], *, small_ints: bool) -> bytes:
    """Return a record as a line of JSON.

    `small_ints` means that all its numbers are integers of at most 64 bits: orjson cannot write
    larger ones or NaN.
    """
    if small_ints:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    return f"{_dump_compact(record)}\n".encode()
