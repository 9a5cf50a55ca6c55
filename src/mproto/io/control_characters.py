"""Characters that a terminal would obey, and a page would drop, as signs that people can see."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""All of them but tabs and line ends: a carriage return alone would let a line be written over."""
_DELETE, _PICTURES = 0x7F, 0x2400


def visible(text: str) -> str:
    """A text whose control characters are signs, one for one, so that offsets stay: `␛` for escape, `�` for rare ones."""
    return _CONTROLS.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == _DELETE:
        return "\u2421"
    return chr(_PICTURES + code) if code < _DELETE else "\ufffd"
