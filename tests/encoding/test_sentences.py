from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.encoding.sentences import sentence_ends
from mproto.text.words import split_words


def split(text: str) -> list[str]:
    words = [text[start:end] for start, end in split_words(text)]
    edges = [0, *sentence_ends(words), len(words)]
    return [" ".join(words[start:end]) for start, end in pairwise(edges)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It helps. Rest helps too.", ["It helps .", "Rest helps too ."]),
        ("Does it? Yes! 3 of 4 say so.", ["Does it ?", "Yes !", "3 of 4 say so ."]),
        ('He said: "It helps." Then he left.', ['He said : " It helps . "', "Then he left ."]),
        ("(It helps.) (Rest, too.)", ["( It helps . )", "( Rest , too . )"]),
        ("Wait ... what? No...", ["Wait ... what ?", "No ..."]),
        ("Really?! Yes.", ["Really ? !", "Yes ."]),
        ("效果很好。没有副作用。", ["效 果 很 好 。", "没 有 副 作 用 。"]),
        ("Dr. Smith of the U.S. Army met J. Doe, No. 7, at St. Mary's.",) * 2,
        ("It is given b.i.d. and at 3.5 mg.",) * 2,
        ("no sign of an end",) * 2,
        ("",) * 2,
    ],
)
def test_sentence_ends(text: str, sentences: list[str] | str) -> None:
    words = " ".join(text[start:end] for start, end in split_words(text))
    assert split(text) == ([words] if sentences == text else sentences)


def test_stops_inside_words() -> None:
    assert sentence_ends(["It", "helps.", "Dr.", "Doe", "left.", "So", "what?)", "Nothing."]) == [2, 5, 7]


@given(
    st.lists(st.one_of(st.sampled_from([".", "?", "…", ")", "''", "Dr", "He", "he", "\ud800"]), st.text(min_size=1)))
)
def test_ends_ascend_and_lie_inside(words: list[str]) -> None:
    ends = sentence_ends(words)
    assert ends == sorted(set(ends))
    assert all(0 < end < len(words) for end in ends)
