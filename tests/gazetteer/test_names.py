"""Types whose terms are names are detected in the corpus, and their capitals matter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mproto import Document, Entry, Gazetteer, annotate
from mproto.cli import main
from mproto.errors import InputError
from mproto.gazetteer import MatchOptions
from mproto.gazetteer.doctor import examine
from mproto.gazetteer.names import MIN_TERMS
from mproto.inference.mentions import Mentions

if TYPE_CHECKING:
    from pathlib import Path

TOWNS = [
    "Reading",
    "Bath",
    "London",
    "Leeds",
    "York",
    "Hull",
    "Derby",
    "Ely",
    "Wells",
    "Truro",
    "Oxford",
    "St Ives",
    "Deal",
]
DRUGS = ["Aspirin", "Codeine", "Heparin", "Insulin", "Morphine", "Digoxin", "Statins", "Warfarin", "Quinine", "Lithium"]
PLACES = Gazetteer(tuple(Entry(town, "Place") for town in TOWNS))
BOTH = Gazetteer((*PLACES.entries, *(Entry(drug, "Drug") for drug in DRUGS)))
TEXTS = [*(f"We saw {town} ." for town in TOWNS), *(f"They took {drug.lower()} ." for drug in DRUGS)]


def test_capitals_matter_for_names_only() -> None:
    new = ["I was reading in the bath : a great deal .", "READING", "st Ives", "ST IVES", "Heparin and heparin"]
    labelled = list(annotate([*TEXTS, *new], BOTH))[len(TEXTS) :]
    assert [[d.surface(s) for s in d.spans] for d in labelled] == [
        [],
        ["READING"],
        [],
        ["ST IVES"],
        ["Heparin", "heparin"],
    ]


def test_a_few_terms_are_not_enough() -> None:
    few = Gazetteer(PLACES.entries[: MIN_TERMS - 1])
    text = "I was reading ."
    assert [d.surface(s) for d in annotate([*TEXTS, text], few) for s in d.spans][-1] == "reading"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (MatchOptions(), False),
        (MatchOptions(names=frozenset()), True),
        (MatchOptions(names=frozenset({"Place"})), False),
        (MatchOptions(case="insensitive"), True),
        (MatchOptions(case="sensitive"), False),
    ],
)
def test_options_override_detection(options: MatchOptions, *, expected: bool) -> None:
    (labelled,) = list(annotate([*TEXTS, "I was reading ."], PLACES, options=options))[-1:]
    assert bool(labelled.spans) == expected


def test_case_insensitive_entries_match_lower_case() -> None:
    entries = (*PLACES.entries[1:], Entry("Reading", "Place", case_sensitive=False))
    (labelled,) = list(annotate([*TEXTS, "reading"], Gazetteer(entries)))[-1:]
    assert labelled.spans


def test_hyphens_do_not_hide_capitals() -> None:
    options = MatchOptions(names=frozenset({"Place"}), hyphens=True)
    gazetteer = Gazetteer((Entry("Stratford-upon-Avon", "Place"),))
    texts = ["Stratford upon Avon", "stratford upon Avon", "STRATFORD-UPON-AVON"]
    assert [bool(d.spans) for d in annotate(texts, gazetteer, options=options)] == [True, False, True]


def test_letters_that_fold_to_two_letters() -> None:
    options = MatchOptions(names=frozenset({"Place"}))
    gazetteer = Gazetteer(
        (Entry("Weiße Elster", "Place"), Entry("Gross Gerau", "Place"), Entry('"Reading" Club', "Place"))
    )
    texts = [
        "Weisse Elster",
        "WEISSE ELSTER",
        "weiße Elster",
        "Groß Gerau",
        "Groß gerau",
        '"reading" Club',
        '"Reading" Club',
    ]
    found = [bool(d.spans) for d in annotate(texts, gazetteer, options=options)]
    assert found == [True, True, False, True, False, False, True]


def test_unknown_names_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="'Town' in names is not a type of the gazetteer; choose from Place"):
        list(annotate(TEXTS, PLACES, options=MatchOptions(names=frozenset({"Town"}))))
    (tmp_path / "c.txt").write_text("x")
    (tmp_path / "Place.txt").write_text("Bath")
    call = ["annotate", str(tmp_path / "c.txt"), "--gazetteer", f"Place={tmp_path / 'Place.txt'}", "--output", "-"]
    assert main([*call, "--names", "Town"]) == 2
    assert "'Town' in names is not a type" in capsys.readouterr().err
    assert main([*call, "--names", "Place", "--case", "sensitive"]) == 2
    assert "smart case" in capsys.readouterr().err


def test_annotate_reports_name_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, terms = tmp_path / "corpus.txt", tmp_path / "Place.txt"
    corpus.write_text("\n".join(TEXTS))
    terms.write_text("\n".join(TOWNS))
    call = ["annotate", str(corpus), "--gazetteer", f"Place={terms}", "--output", str(tmp_path / "out.jsonl")]
    assert main(call) == 0
    assert "types matched as names (capitals count): Place" in capsys.readouterr().out
    assert main([*call, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name_types"] == ["Place"]


def test_the_doctor_reports_name_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert examine([Document(text) for text in TEXTS], BOTH).names == ("Place",)
    corpus, terms = tmp_path / "corpus.txt", tmp_path / "Place.txt"
    corpus.write_text("\n".join(TEXTS))
    terms.write_text("\n".join(TOWNS))
    page = tmp_path / "page.html"
    assert main(["doctor", str(corpus), "--gazetteer", f"Place={terms}", "--html", str(page)]) == 0
    assert "matched as names (capitals count): Place" in capsys.readouterr().out
    assert "names (capitals matter): Place" in page.read_text()
    assert main(["doctor", str(corpus), "--gazetteer", f"Place={terms}", "--names", "none"]) == 0
    assert "matched as names" not in capsys.readouterr().out


def test_name_types_are_detected_from_example_mentions() -> None:
    genes = [f"GENE{number}" for number in range(40)]
    texts = [*TOWNS, *(drug.lower() for drug in DRUGS), "Rare", *genes]
    labels = ["Place"] * len(TOWNS) + ["Drug"] * len(DRUGS) + ["Other"] + ["Gene"] * len(genes)
    assert Mentions(texts, labels, np.ones((len(texts), 2))).names() == {"Place"}
