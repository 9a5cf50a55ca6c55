"""All control characters are escaped, and nothing else."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from mproto.html.markup import marked
from mproto.io.control_characters import escape_controls

CONTROLS = "".join(map(chr, [*range(32), *range(127, 160)]))
TEXTS = st.text(st.sampled_from(CONTROLS) | st.characters(), max_size=30)


def is_control(text: str, place: int) -> bool:
    """Whether a terminal would do something other than show it, or go to the next line or column."""
    sign = text[place]
    if sign == "\r":
        return text[place + 1 : place + 2] != "\n"
    return unicodedata.category(sign) == "Cc" and sign not in "\n\t"


@given(text=TEXTS)
@example(text=CONTROLS)
@example(text="\r\n\r\r\n\r")
def test_all_control_characters_and_no_others_are_replaced(text: str) -> None:
    shown = escape_controls(text)
    assert len(shown) == len(text)
    for place, sign in enumerate(text):
        assert not is_control(shown, place)
        assert (shown[place] != sign) == is_control(text, place)


def test_signs_are_those_that_unicode_has_for_them() -> None:
    assert escape_controls("\x1b[31m\0\x7f\x9b") == "␛[31m␀␡\ufffd"


@given(text=TEXTS, start=st.integers(0, 29))
@example(text=CONTROLS, start=5)
def test_pages_hold_none(text: str, start: int) -> None:
    spans = [(start, len(text), "A")] if start < len(text) else []
    page = marked(text, spans, {"A": "t0"}, named=True)
    assert not any(is_control(page, place) for place in range(len(page)) if page[place] != "\r")
    assert page.count("\r") == text.count("\r\n")
