"""Model cards: they state only known facts, and no text breaks their structure."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from mproto.config import Config
from mproto.denoising.outlook import Expected, Outlook
from mproto.persistence.card import expected_scores, model_card, recommended_combination, recommended_way

SETTINGS = Config().as_dict()
CARD = {"training documents": 1234, "gazetteer": "120 Chemical, 80 Disease (fingerprint 0123456789abcdef)"}
SCORES = [{"corpus": "news 2024", "precision": 0.5, "recall": 0.25, "f1": 1 / 3, "gold": 7}]


def made(
    labels: list[str] | None = None, card: dict[str, Any] | None = None, **options: Any
) -> tuple[dict[str, Any], str]:
    """Return the YAML front matter and the Markdown after it."""
    text = model_card(labels or ["Chemical"], "mproto", "all-MiniLM-L6-v2", card or {}, "1.2", SETTINGS, **options)
    start, front, body = text.split("---\n", 2)
    assert start == ""
    text.encode("utf-8")
    return yaml.safe_load(front), body


def parsed(body: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(body)


def shown(token: Token) -> str:
    """Return the visible text of a line."""
    assert {child.type for child in token.children or []} <= {"text", "text_special", "softbreak", "code_inline"}, token
    return "".join(child.content for child in token.children or [])


def lines(body: str) -> list[str]:
    return [shown(token) for token in parsed(body) if token.type == "inline"]


MARKUP = [
    "`",
    "```",
    "\n",
    "---",
    "# ",
    "|",
    "<b>",
    "](x)",
    "![",
    "**",
    "~~",
    '"',
    ": ",
    "&amp;",
    "\\",
    "- ",
    "1. ",
    "a",
]
TEXT = st.text(max_size=25) | st.lists(st.sampled_from(MARKUP), max_size=6).map("".join)


@settings(max_examples=60)
@given(TEXT, TEXT, TEXT)
@example("\ud800", "\x85\u2028\x00", "\ud800#")
@example("- a", "1. b", "=== ")
@example("12) a", "+ b", "+")
@example(" ", "", "\n")
@example("<https://x.y>", "https://x.y", "a\n---\nb: c")
def test_no_text_breaks_the_card(label: str, other: str, corpus: str) -> None:
    """The structure is that of a card with harmless words, and the words are shown unchanged."""
    words = (label, other, corpus)
    cards = []
    for a, b, c in (words, ("x", "x", "x")):
        card = {"training documents": a, "gazetteer": b, f"{a}note": b, "scores": [{**SCORES[0], "corpus": c}]}
        front, body = made([a, b], card)
        cards.append((front, body))
    (front, body), (_, harmless) = cards
    assert [(t.type, t.tag, t.level) for t in parsed(body)] == [(t.type, t.tag, t.level) for t in parsed(harmless)]
    read = "\n".join(lines(body))
    for word in words:
        assert " ".join(clean(word).split()) in " ".join(read.split())
    assert front["model-index"][0]["results"][0]["dataset"]["name"] == corpus.encode("utf-8", "replace").decode()


def clean(word: str) -> str:
    """Remove line breaks, control characters and lone surrogates."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", " ", word)


def test_the_front_matter_of_the_hub() -> None:
    front, _ = made(["Chemical", "Disease"], {**CARD, "scores": SCORES})
    assert front["library_name"] == "mproto"
    assert front["pipeline_tag"] == "token-classification"
    assert {"named-entity-recognition", "distant-supervision"} <= set(front["tags"])
    assert "distant-supervision" not in made()[0]["tags"]
    (index,) = front["model-index"]
    (result,) = index["results"]
    assert result["task"]["type"] == "token-classification"
    assert {m["type"]: m["value"] for m in result["metrics"]} == {"precision": 0.5, "recall": 0.25, "f1": 0.3333}
    assert "model-index" not in made(card=CARD)[0]


def test_the_library_of_the_hub_can_read_it() -> None:
    from huggingface_hub import ModelCard

    text = model_card(["A: b", "#C"], "mproto", "e", {**CARD, "scores": SCORES}, "1", SETTINGS)
    (result, *_) = ModelCard(text).data.eval_results
    assert (result.dataset_name, result.metric_type, result.metric_value) == ("news 2024", "precision", 0.5)


def test_the_card_says_where_labels_come_from() -> None:
    by_terms = made(card=CARD)[1]
    assert "1,234 documents, labelled by looking up the terms of a gazetteer, not by humans" in by_terms
    assert "fingerprint 0123456789abcdef" in by_terms
    assert "learnt its types from a term list" in by_terms
    both = made(card={**CARD, "documents labelled by people": 20})[1]
    assert "20 human-labelled documents" in both
    human = made(card={"documents labelled by people": 20})[1]
    assert "gazetteer" not in human
    assert "term list" not in human
    assert "were not recorded" in made()[1]
    assert "was not recorded" in made(card={"training documents": 3})[1]


def test_limits_are_those_of_the_model() -> None:
    assert "are merged into one" in made(scheme="io")[1]
    assert "are merged into one" not in made(scheme="bio")[1]
    assert "ignores letter case; the shape of each word" in made(keeps_case=False)[1]
    assert "letter case" not in made(keeps_case=True)[1]
    plain = {**SETTINGS, "word_shapes": False}
    text = model_card(["A"], "mproto", "e", {}, "1", plain, keeps_case=False)
    assert "cannot tell words apart that differ only in case" in text


def test_scores_are_explained_or_reported_missing() -> None:
    assert "| news 2024 | 50.00 | 25.00 | 33.33 |" in made(card={"scores": SCORES})[1]
    assert "with strict matching" in made(card={"scores": SCORES})[1]
    partly = [{"corpus": "x", "f1": 1}]
    assert "| x |  |  | 100.00 |" in made(card={"scores": partly})[1]
    assert "No scores were recorded" in made()[1]


@pytest.mark.parametrize(
    "wrong", [0.7, "good", [0.7], [{"f1": "high"}], [{"f1": 70}], [{"corpus": "x"}], [*SCORES, {}]]
)
def test_invalid_scores_are_shown_as_plain_text(wrong: object) -> None:
    front, body = made(card={"scores": wrong})
    assert "model-index" not in front
    assert any(line == f"scores: {wrong}" for line in lines(body))
    assert "No scores were recorded" in body


FRACTIONS = st.floats(0, 1)
EXPECTED = st.builds(Expected, FRACTIONS, FRACTIONS)
OUTLOOKS = st.builds(Outlook, EXPECTED, EXPECTED, EXPECTED)
WAYS = ("the model and the terms together", "the model alone", "the terms alone")


@settings(max_examples=40)
@given(OUTLOOKS, st.booleans())
def test_expected_scores_and_the_recommendation_are_shown(outlook: Outlook, measured: bool) -> None:
    """What training writes into the card is read back, and shown as a table and a sentence."""
    card = {**CARD, **outlook.as_card(), **({"scores": SCORES} if measured else {})}
    assert recommended_way(card) == outlook.recommended
    assert expected_scores(card) == card["expected scores"]
    front, body = made(card=card)
    rows = [line for line in body.splitlines() if line.startswith("| the ")]
    expected = [
        f"| {name} | {100 * one.precision:.2f} | {100 * one.recall:.2f} | {100 * one.f1:.2f} |"
        for name, one in zip(WAYS, (outlook.both, outlook.model, outlook.terms), strict=True)
    ]
    assert rows == expected
    assert sum(token.type == "table_open" for token in parsed(body)) == 1 + measured
    (sentence,) = [line for line in lines(body) if line.startswith("Training recommends")]
    assert WAYS[("both", "model", "terms").index(outlook.recommended)] in sentence
    assert f"(combination {recommended_combination(card)})" in sentence
    assert ("worse than the term list alone" in sentence) == (outlook.recommended == "terms")
    assert "No human label was used" in body
    assert not any(line.startswith(("recommended:", "expected scores:")) for line in lines(body))  # as raw values
    assert ("model-index" in front) == measured  # estimates are not results


@pytest.mark.parametrize(
    "wrong",
    [
        0.7,
        "high",
        {},
        {"both": {"f1": 0.5}},
        {way: {"precision": 0.5, "recall": 0.5, "f1": 50} for way in ("both", "model", "terms")},
        {way: {"precision": 0.5, "recall": 0.5, "f1": float("nan")} for way in ("both", "model", "terms")},
        dict.fromkeys(("both", "model", "terms"), 0.5),
        {"*all*": {"precision": 0.5, "recall": 0.5, "f1": 0.5}},
    ],
)
def test_invalid_expected_scores_are_shown_as_plain_text(wrong: object) -> None:
    for way in ("terms", "**terms**", ["terms"], None):
        card = {"recommended": way, "expected scores": wrong}
        shown_lines = lines(made(card=card)[1])
        assert f"expected scores: {wrong}" in shown_lines
        assert (f"recommended: {way}" in shown_lines) == (way != "terms")
        assert any(line.startswith("Training recommends") for line in shown_lines) == (way == "terms")


def test_types_of_names_are_shown_if_there_are_any() -> None:
    assert "matched as names" not in made(name_types=[])[1]
    assert "Types matched as names: Disease, Chemical." in lines(made(name_types=["Disease", "Chemical"])[1])


def test_the_card_names_the_form_of_the_model() -> None:
    cards = {int8: made(int8=int8)[1] for int8 in (None, False, True)}
    assert [("ONNX" in card, "eight bits" in card) for card in cards.values()] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    for int8, card in cards.items():
        assert ("mproto-ner[train]" in card, "mproto-ner[onnx]" in card) == (int8 is None, int8 is not None)
        assert lines(card)[-1].startswith("pip install")
