from __future__ import annotations

import re

import pytest

from mproto import Document, Entry, Gazetteer, Span, demo
from mproto.gazetteer.doctor import examine
from mproto.html.doctor_page import page

GAZETTEER = Gazetteer(
    tuple(
        Entry(surface, type_)
        for surface, type_ in [
            ("gold", "Chemical"),
            ("lead", "Chemical"),
            ("lead", "Disease"),
            ("lead poisoning", "Disease"),
            ("poisoning", "Disease"),
            ("zinc", "Chemical"),
            ("Zinc", "Chemical"),
            ("gold", "Chemical"),
            ("Rose", "Name"),
            ("a very long name of no sentence", "Name"),
            ("beta-blocker", "Chemical"),
            ("beta blockers", "Chemical"),
        ]
    )
)
TEXTS = ["Lead poisoning is no joke.", "They lead to gold.", "A rose is a rose.", "Nothing here."]


def test_every_part_of_the_report() -> None:
    health = examine([Document(text) for text in TEXTS], GAZETTEER)
    assert (health.documents, health.covered) == (4, 3)
    hits = {h.surface: h.hits for h in health.found}
    assert hits == {"Rose": 2, "lead": 1, "gold": 1, "lead poisoning": 1}
    assert [h.surface for h in health.ambiguous] == ["lead"]
    assert {h.surface for h in health.common} == {"lead", "gold", "Rose"}
    assert [(h.surface, times) for h, times in health.inside] == [("poisoning", 1)]
    assert {h.surface for h in health.dead} == {
        "zinc",
        "Zinc",
        "a very long name of no sentence",
        "beta-blocker",
        "beta blockers",
    }
    assert [(e.surface, times) for e, times in health.duplicates] == [("gold", 2)]
    assert set(health.near_duplicates) == {("zinc", "Zinc"), ("beta-blocker", "beta blockers")}
    assert [e.surface for e in health.too_long] == ["a very long name of no sentence"]
    coverage = {c.type: (c.entries, c.used, c.hits, c.documents) for c in health.types}
    assert coverage == {"Chemical": (7, 2, 1, 1), "Disease": (3, 2, 1, 1), "Name": (2, 1, 2, 1)}
    assert health.scores is None
    assert health.found[0].contexts[0] == ("A ", "rose", " is a rose.")
    long = Document("x " * 90 + "rose" + " y" * 90)
    before, match, after = examine([long], Gazetteer((Entry("rose", "Name"),))).found[0].contexts[0]
    assert (before[0], match, after[-1]) == ("…", "rose", "…")
    assert {s.text for s in health.sentences} == set(TEXTS[:3])
    assert "Chemical and Disease" in next(s.why for s in health.sentences if "gold" in s.text)


def test_precision_where_gold_is_known() -> None:
    documents = [Document("gold and gold", (Span(0, 4, "Chemical"),)), Document("no gold")]
    health = examine(documents, GAZETTEER)
    assert health.scores == (1, 3, 1)
    assert health.found[0].precision == 1 / 3
    assert health.as_dict()["entries"][0]["precision"] == 1 / 3


def test_at_most_ten_sentences() -> None:
    health = examine(demo.documents("train"), demo.gazetteer())
    assert len(health.sentences) == 10
    assert len({s.text for s in health.sentences}) == 10


def test_the_page_escapes_everything_and_loads_nothing() -> None:
    evil = "<script>alert('x')</script>"
    gazetteer = Gazetteer((Entry("gold", evil), Entry(f"{evil} gold", "X"), Entry(evil, "X")))
    html = page(examine([Document(f"gold in {evil} & more")], gazetteer))
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert not re.findall(r"(?:src|href)=|url\(|@import", html)


@pytest.mark.parametrize("documents", [[Document("nothing")], []])
def test_a_corpus_without_hits(documents: list[Document]) -> None:
    health = examine(documents, GAZETTEER)
    assert not health.found
    assert page(health)


def test_punctuation_is_not_a_near_duplicate() -> None:
    gazetteer = Gazetteer((Entry("+", "X"), Entry("-", "X")))
    assert examine([Document("a")], gazetteer).near_duplicates == ()
