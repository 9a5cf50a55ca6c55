from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.text.words import Word, _split_chunk, split_words

# Arbitrary text, and strings of characters that are hard for word splitters.
TEXTS = st.text() | st.text("aB1 -'’.,:/@&_()\n\t\u0301\u200d\u00ad\ufe0f中ひعאहि👩⚕👍🏽🇬🇧\x00\x85\ud800", max_size=40)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in split_words(text)]


@given(TEXTS)
def test_nothing_is_lost(text: str) -> None:
    rebuilt, position = "", 0
    for start, end in split_words(text):
        assert position <= start < end
        gap = text[position:start]
        assert all(char.isspace() or unicodedata.category(char) == "Cc" for char in gap)
        rebuilt += gap + text[start:end]
        position = end
    assert rebuilt + text[position:] == text
    assert all(char.isspace() or unicodedata.category(char) == "Cc" for char in text[position:])


@given(TEXTS)
def test_words_contain_no_white_space(text: str) -> None:
    assert not any(char.isspace() for word in split(text) for char in word)


@given(TEXTS, TEXTS)
def test_a_space_separates_words(one: str, other: str) -> None:
    shifted = [Word(start + len(one) + 1, end + len(one) + 1) for start, end in split_words(other)]
    assert list(split_words(f"{one} {other}")) == [*split_words(one), *shifted]


@given(TEXTS | st.lists(st.sampled_from(["a", "IL-2", "a.b@c.org", "U.S.", "'s", "\n", "b\u0301", ""])).map(" ".join))
def test_splitting_by_chunks_equals_splitting_the_whole_text(text: str) -> None:
    assert split_words(text) == _split_chunk(text)
    assert all(type(word) is Word for word in split_words(text))


@pytest.mark.parametrize("word", ["aspirin", "22-oxacalcitriol", "IL-2", "5-HT3", "L-dopa", "N-acetyl-p-aminophenol"])
@pytest.mark.parametrize("around", ["{}", "({})", "the {}, which", '"{}"', "{}."])
def test_names_are_one_word(word: str, around: str) -> None:
    assert word in split(around.format(word))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Parkinson's disease", ["Parkinson", "'s", "disease"]),
        ("the patients’ own", ["the", "patients", "’", "own"]),
        ("O'Brien doesn't", ["O'Brien", "doesn't"]),
        ("Selegiline-induced postural", ["Selegiline", "-", "induced", "postural"]),
        ("IL-2-induced, COVID-19-related", ["IL-2", "-", "induced", ",", "COVID-19", "-", "related"]),
        ("a 19-year-old", ["a", "19", "-", "year", "-", "old"]),
        ("beta-blockers", ["beta", "-", "blockers"]),
        ("1,25-dihydroxyvitamin D3", ["1,25-dihydroxyvitamin", "D3"]),
        ("2.5 mg at 10:30, 1,000 times", ["2.5", "mg", "at", "10:30", ",", "1,000", "times"]),
        ("U.S. officials, e.g. him.", ["U.S.", "officials", ",", "e.g.", "him", "."]),
        ("Wait... what?!", ["Wait", "...", "what", "?", "!"]),
        ("write to a.b@c.org or https://d.org/e.", ["write", "to", "a.b@c.org", "or", "https://d.org/e", "."]),
        ("café cafe\u0301", ["café", "cafe\u0301"]),
        ("新冠肺炎", ["新", "冠", "肺", "炎"]),
        ("हिन्दी", ["हिन्दी"]),
        ("👩‍⚕️ 👍🏽🇬🇧", ["👩‍⚕️", "👍🏽", "🇬🇧"]),
        ("Guillain–Barré", ["Guillain", "–", "Barré"]),
        ("a\x00b\x85c", ["a", "b", "c"]),
        ("IL‐2 and IL‑2", ["IL‐2", "and", "IL‑2"]),
        ("THE PATIENT'S", ["THE", "PATIENT", "'S"]),
        ("B12-free, 5-HT3-like, 2-fold", ["B12", "-", "free", ",", "5-HT3", "-", "like", ",", "2", "-", "fold"]),
        ("2-freezer", ["2-freezer"]),
        ("\U00020001\U00020002", ["\U00020001", "\U00020002"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_rules(text: str, words: list[str]) -> None:
    assert split(text) == words


@pytest.mark.parametrize(
    "unit", ["a", "a-", "1.", "a'", "a.", "ab.cd.", "a.b@", "https://", "-+", "\u0301", ".", "1,a-"]
)
def test_long_runs_take_linear_time(unit: str) -> None:
    """A quadratic pattern would take minutes here."""
    text = unit * (200_000 // len(unit))
    assert sum(end - start for start, end in split_words(text)) == len(text)
