from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto import Document, Entry, Gazetteer, Span, annotate
from mproto.errors import InputError
from mproto.gazetteer.trie import Trie

WORDS = st.sampled_from(["heart", "Heart", "attack", "MS", "ms", "of", "the", "gold"])
SURFACES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


def brute_force(words: list[str], surfaces: set[str]) -> list[tuple[int, int]]:
    def matches(surface: str, found: list[str]) -> bool:
        if len(surface) <= 3 or surface.isupper():
            return surface.split() == found
        return surface.casefold().split() == [word.casefold() for word in found]

    spans, position = [], 0
    while position < len(words):
        ends = [
            end
            for end in range(len(words), position, -1)
            if any(matches(surface, words[position:end]) for surface in surfaces)
        ]
        if ends:
            spans.append((position, ends[0]))
        position = ends[0] if ends else position + 1
    return spans


@given(st.sets(SURFACES, max_size=6), st.lists(WORDS, max_size=12))
def test_longest_match_against_brute_force(surfaces: set[str], words: list[str]) -> None:
    trie = Trie(Entry(surface, "X") for surface in surfaces)
    assert [(match.start, match.end) for match in trie.matches(words)] == brute_force(words, surfaces)


def test_offsets_types_and_ambiguity() -> None:
    gazetteer = Gazetteer((Entry("lead", "Chemical"), Entry("lead", "Disease"), Entry("lead poisoning", "Disease")))
    (document,) = annotate(["Lead poisoning from  lead."], gazetteer)
    assert document.spans == (Span(0, 14, "Disease"),)


def test_old_spans_are_replaced_and_the_rest_kept() -> None:
    document = Document("gold", (Span(0, 4, "Y"),), id="7", meta={"a": 1})
    (labelled,) = annotate([document], Gazetteer((Entry("gold", "X"),)))
    assert (labelled.spans, labelled.id, labelled.meta) == ((Span(0, 4, "X"),), "7", {"a": 1})


def test_loading(tmp_path: Path) -> None:
    (tmp_path / "A.txt").write_bytes(b"\xef\xbb\xbf gold \r\n\r\nzinc\r\n")
    (tmp_path / "B.txt").write_text("gout\n")
    gazetteer = Gazetteer.load(tmp_path)
    assert [(e.surface, e.type, e.line) for e in gazetteer] == [("gold", "A", 1), ("zinc", "A", 3), ("gout", "B", 1)]
    assert gazetteer.types == ("A", "B")
    assert gazetteer.sizes == {"A": 2, "B": 1}
    assert Gazetteer.load({"C": tmp_path / "A.txt"}).types == ("C",)


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"", "the file is empty"), (b"\n \n", "holds no term"), (b"a\x00b", "binary"), (b"\xff", "not UTF-8")],
)
def test_wrong_files(content: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / "A.txt").write_bytes(content)
    with pytest.raises(InputError, match=what):
        Gazetteer.load(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no \.txt file"):
        Gazetteer.load(tmp_path)
