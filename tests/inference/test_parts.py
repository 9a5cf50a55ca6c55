"""The parts of inference: windows, gazetteer terms, example mentions, calibration. The oracles are brute force."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto import Document, Entry, Gazetteer, Span
from mproto.encoding.windows import Window
from mproto.errors import InputError
from mproto.inference.entities import Entity, read_entities
from mproto.inference.gazetteer_terms import COMBINATIONS, GazetteerTerms, TermMatch
from mproto.inference.mentions import Mentions
from mproto.inference.tagger import Tagged
from mproto.persistence.card import RECOMMENDED
from mproto.persistence.files import MENTIONS
from mproto.persistence.mentions import load_mentions, save_mentions
from mproto.training.calibration import best_temperature
from runs import recommending, small_model

TAGS = ("O", "I-A", "I-B")


def window(document: int, start: int, size: int) -> Window:
    return Window(document, start, [], list(range(size)), [])


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.data())
def test_entities_do_not_depend_on_where_windows_end(tags: list[int], data: st.DataObject) -> None:
    document = Document(" ".join("w" * (1 + i % 3) for i in range(len(tags))))
    cuts = sorted({0, len(tags), *data.draw(st.lists(st.integers(0, len(tags)), max_size=4))})
    windows = [window(0, a, b - a) for a, b in pairwise(cuts)]
    scores = [i / 100 for i in range(len(tags))]

    def tagged(own: list[Window]) -> Tagged:
        rows = [w.start + i for w in own for i in range(len(w.firsts))]
        return Tagged([tags[row] for row in rows], [scores[row] for row in rows], [tags[row] for row in rows], scores)

    data.draw(st.randoms(use_true_random=False)).shuffle(windows)
    (found,) = read_entities([document], [(windows, tagged(windows))], TAGS, ("O-1", "A-1", "B-1"))
    expected = []
    for i, tag in enumerate(tags):
        if tag and i and tags[i - 1] == tag:
            expected[-1][1] = i + 1
        elif tag:
            expected.append([i, i + 1, tag])
    starts, ends = document.edges
    assert [e.span for e in found] == [Span(starts[a], ends[b - 1], TAGS[t][2:]) for a, b, t in expected]
    assert [e.score for e in found] == pytest.approx([np.mean(scores[a:b]) for a, b, _ in expected])
    assert [e.prototype for e in found] == [("", "A-1", "B-1")[t] for _, _, t in expected]


SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=8)


def disjoint(spans: list[tuple[int, int]], label: str) -> list[Span]:
    found: list[Span] = []
    for start, size in sorted(spans):
        if not found or start >= found[-1].end:
            found.append(Span(start, start + size, label))
    return found


@given(SPANS, SPANS, st.sampled_from(["union", "prefer-gazetteer"]))
def test_combinations_keep_all_of_one_side(
    entities: list[tuple[int, int]], matches: list[tuple[int, int]], combination: str
) -> None:
    model, terms = disjoint(entities, "A"), disjoint(matches, "B")
    gazetteer = GazetteerTerms(Gazetteer(()), combination)  # type: ignore[arg-type]
    found = gazetteer.combine([Entity(s, 0.5) for s in model], [TermMatch(s, Entry("", "B")) for s in terms])
    preferred, others = (model, terms) if combination == "union" else (terms, model)
    free = [s for s in others if all(s.end <= p.start or p.end <= s.start for p in preferred)]
    assert [entity.span for entity in found] == sorted([*preferred, *free])
    assert all(entity.score == (0.5 if entity.span.label == "A" else 1.0) for entity in found)


@given(SPANS, SPANS)
def test_terms_alone_do_not_depend_on_what_the_model_finds(
    entities: list[tuple[int, int]], matches: list[tuple[int, int]]
) -> None:
    model, terms = disjoint(entities, "A"), disjoint(matches, "A")
    found = GazetteerTerms(Gazetteer(()), "terms").combine(
        [Entity(s, 0.5, "A-1") for s in model], [TermMatch(s, Entry("", "A")) for s in terms]
    )
    assert found == [Entity(s, 0.5, "A-1") if s in model else Entity(s, 1.0) for s in terms]


def test_an_entity_found_by_both_keeps_the_score_of_the_model() -> None:
    document = Document("Aspirin helps")
    terms = GazetteerTerms(Gazetteer((Entry("Aspirin", "Chemical"),)), "prefer-gazetteer")
    (match,) = terms.find(document)
    entity = Entity(match.span, 0.7, "Chemical-1")
    assert terms.combine([entity], [match]) == [entity]


@given(st.integers(0, 2**32 - 1))
def test_nearest_mentions_have_the_largest_cosine(seed: int) -> None:
    random = np.random.default_rng(seed)
    features, query = random.normal(size=(9, 5)), random.normal(size=5)
    labels = ["A", "B"] * 4 + ["A"]
    mentions = Mentions([f"t{i}" for i in range(9)], labels, features)
    cosine = features @ query / np.linalg.norm(features, axis=1)
    expected = sorted((i for i in range(9) if labels[i] == "A"), key=lambda i: -cosine[i])[:3]
    assert mentions.nearest(query, "A") == [f"t{i}" for i in expected]
    assert mentions.nearest(query, "C") == []


def test_mentions_are_saved_and_damage_is_detected(tmp_path: Path) -> None:
    assert load_mentions(tmp_path) is None
    mentions = Mentions(["naïve", "b"], ["A", "B"], np.array([[3.0, 4.0], [1.0, 0.0]]))
    save_mentions(mentions, tmp_path)
    again = load_mentions(tmp_path)
    assert again is not None
    assert (again.texts, again.labels, again.nearest(np.array([1.0, 1.0]), "A")) == (
        ["naïve", "b"],
        ["A", "B"],
        ["naïve"],
    )
    for content, message in ((b"no tensors", "the model works without it"), (b"\x80\x04 no tensors", "is a pickle")):
        (tmp_path / MENTIONS).write_bytes(content)
        with pytest.raises(InputError, match=message):
            load_mentions(tmp_path)


def test_calibration_recovers_the_temperature_of_sampled_labels() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(20_000, 4, generator=generator)
    labels = torch.multinomial((logits / 2.5).softmax(-1), 1, generator=generator).squeeze(-1)
    assert best_temperature(logits.log_softmax(-1), labels) == pytest.approx(2.5, rel=0.05)


PLACES = Gazetteer((Entry("York", "Place"), Entry("aspirin", "Chemical")))


@pytest.mark.parametrize(
    ("recommended", "combination"),
    [
        ("both", "prefer-gazetteer"),
        ("model", "off"),
        ("terms", "terms"),
        (None, "prefer-gazetteer"),
        ("everything", "prefer-gazetteer"),  # the card of a later version, or one edited by hand
        (["both"], "prefer-gazetteer"),
    ],
)
def test_the_default_combination_is_what_training_recommended(recommended: Any, combination: Any) -> None:
    known = recommended in ("both", "model", "terms")
    alone = recommending(recommended if known else None)
    if not known and recommended:
        alone.card[RECOMMENDED] = recommended
    assert alone.recommended_combination == (combination if known else None)
    given = alone.with_gazetteer(PLACES)
    assert given.terms is not None
    assert given.terms.combination == combination
    text = "We saw York and took aspirin for the headache ."
    assert given(text) == alone.with_gazetteer(PLACES, combination)(text)
    for other in COMBINATIONS:
        chosen = alone.with_gazetteer(PLACES, other).terms
        assert chosen is not None
        assert chosen.combination == other


def test_a_method_without_estimates_recommends_nothing() -> None:
    assert small_model("tagger").recommended_combination is None


def test_terms_alone_are_found() -> None:
    ner, text = small_model().with_gazetteer(PLACES, "terms"), "We saw York and took aspirin for the headache ."
    assert [(e["word"], e["entity_group"]) for e in ner(text)] == [("York", "Place"), ("aspirin", "Chemical")]
    assert ner.labels == (*small_model().labels, "Place")
    assert [e["word"] for e in ner(text, threshold={"Disease": 0.9, "Place": 0.5})] == ["York", "aspirin"]
    assert ner("Nothing of the list causes a headache .") == []
    sources = [e["provenance"]["source"] for e in ner(text, provenance=True)]
    assert sources == ["gazetteer", "gazetteer"]


def test_a_combined_gazetteer_adds_its_types() -> None:
    gazetteer, alone = PLACES, recommending("both")
    assert alone.with_gazetteer(gazetteer, "off").labels == alone.labels
    both = alone.with_gazetteer(gazetteer)
    assert both.terms is not None
    assert both.terms.combination == "prefer-gazetteer"
    assert both.labels == (*alone.labels, "Place")
    assert {"Place"} <= {entity["entity_group"] for entity in both("We saw York .", threshold={"Place": 0.5})}
    assert both.model_card() == alone.model_card()
