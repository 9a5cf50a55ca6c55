"""Replace control characters with printable symbols.

A terminal would execute the characters, and a web page would drop them.
"""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""All control characters except tabs and line ends. A carriage return without a line feed is
included, since it would let text overwrite the line."""
_DELETE, _PICTURES = 0x7F, 0x2400


def escape_controls(text: str) -> str:
    """Replace each control character with one symbol, so that offsets stay valid.

    ASCII control characters become their Unicode control pictures (`␛` for escape), all others
    become `�`.
    """
    return _CONTROLS.sub(_symbol, text)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == _DELETE:
        return "\u2421"
    return chr(_PICTURES + code) if code < _DELETE else "\ufffd"
