"""Short forms of the errors of other libraries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.errors import in_short


@given(st.text())
def test_one_line_that_says_something(text: str) -> None:
    said = in_short(ValueError(text))
    assert len(said.splitlines()) == 1
    assert said == "ValueError" or text.strip().startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Cannot be. Should be one of a, b, c.", "Cannot be"),
        ("None of these:\n(1) a\n(2) b", "None of these"),
        ("version 1.2 is no file", "version 1.2 is no file"),
        ("...", "ValueError"),
    ],
)
def test_the_first_sentence(text: str, said: str) -> None:
    assert in_short(ValueError(text)) == said
