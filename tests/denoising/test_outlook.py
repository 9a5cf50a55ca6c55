"""Expected scores of the model, the terms and both: by hand, against the true scores, and properties."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import one_hot

from mproto.denoising.outlook import Expected, Outlook, compare

WORDS = 50_000


def true_scores(found: torch.Tensor, truth: torch.Tensor) -> Expected:
    right = int(((found == truth) & (truth > 0)).sum())
    return Expected(right / max(int((found > 0).sum()), 1), right / max(int((truth > 0).sum()), 1))


def scored(outlook: Outlook) -> list[Expected]:
    return [outlook.model, outlook.both, outlook.terms]


def test_by_hand() -> None:
    """Five words; the second label is probably wrong, and the third word is probably an entity."""
    probabilities = torch.tensor(
        [[0.1, 0.8, 0.1], [0.7, 0.1, 0.2], [0.3, 0.7, 0.0], [0.9, 0.1, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64
    )
    labels, decided = torch.tensor([1, 2, 0, 0, 0]), torch.tensor([1, 0, 1, 0, 0])
    found = compare(probabilities, labels, decided)
    entities = 0.9 + 0.3 + 0.7 + 0.1
    assert tuple(found.model) == pytest.approx((1.5 / 2, 1.5 / entities))
    assert tuple(found.both) == pytest.approx((1.7 / 3, 1.7 / entities))
    assert tuple(found.terms) == pytest.approx((1.0 / 2, 1.0 / entities))
    assert found.recommended == "model"


def corpus(seed: int, coverage: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return labels, true classes and the probabilities from which they are drawn; all labels are right."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(WORDS, 3, generator=generator, dtype=torch.float64)
    logits[:, 0] += 4
    probabilities = logits.softmax(-1)
    truth = torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)
    labels = torch.where(torch.rand(WORDS, generator=generator) < coverage, truth, 0)
    return labels, truth, probabilities


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_expected_scores_are_the_true_ones_if_probabilities_are_calibrated(seed: int) -> None:
    _, truth, probabilities = corpus(seed, 0.5)
    decided, other = probabilities.argmax(-1), probabilities[:, 1:].argmax(-1) + 1
    found = compare(probabilities, torch.where(decided > 0, 0, other), decided)
    assert tuple(found.model) == pytest.approx(tuple(true_scores(decided, truth)), abs=0.02)
    assert tuple(found.terms) == pytest.approx(tuple(true_scores(torch.where(decided > 0, 0, other), truth)), abs=0.02)
    assert found.recommended == "model"


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9])
def test_a_perfect_model(coverage: float) -> None:
    labels, truth, _ = corpus(0, coverage)
    found = compare(one_hot(truth, 3).double(), labels, truth)
    assert tuple(found.model) == tuple(found.both) == pytest.approx((1, 1))
    assert tuple(found.terms) == pytest.approx(tuple(true_scores(labels, truth)))
    assert found.recommended == "both"


def test_a_perfect_model_is_better_alone_if_labels_are_wrong() -> None:
    labels, truth, _ = corpus(0, 0.5)
    labels[(truth == 0).nonzero().flatten()[:1000]] = 1
    found = compare(one_hot(truth, 3).double(), labels, truth)
    assert found.recommended == "model"
    assert found.terms.precision == pytest.approx(true_scores(labels, truth).precision)
    assert found.both.precision < found.model.precision


def test_the_terms_are_recommended_if_a_model_would_lose_them() -> None:
    labels, truth, _ = corpus(0, 0.5)
    found = compare(one_hot(truth, 3).double(), labels, (truth + 1) % 3)
    assert found.recommended == "terms"


def test_the_terms_are_recommended_if_the_data_say_too_little() -> None:
    """However good the model seems to be."""
    labels, truth, _ = corpus(0, 0.5)
    found = compare(one_hot(truth, 3).double(), labels, truth)
    assert found.has_evidence
    assert found.recommended == "both"
    unknown = replace(found, has_evidence=False)
    assert unknown.recommended == unknown.as_card()["recommended"] == "terms"
    assert unknown.as_card()["expected scores"] == found.as_card()["expected scores"]


@given(st.integers(0, 40), st.integers(2, 4), st.integers(0, 10**6))
def test_scores_are_between_0_and_1(words: int, classes: int, seed: int) -> None:
    """Whatever is predicted, also without labels or words."""
    generator = torch.Generator().manual_seed(seed)
    sparse = torch.rand(2, words, generator=generator) < torch.rand(2, 1, generator=generator)
    labels, decided = torch.randint(classes, (2, words), generator=generator) * sparse
    probabilities = torch.randn(words, classes, generator=generator).softmax(-1)
    found = compare(probabilities, labels, decided)
    for expected in scored(found):
        assert all(0 <= value <= 1 for value in (*expected, expected.f1))
        assert min(expected) - 1e-12 <= expected.f1 <= max(expected) + 1e-12
    assert found.both.recall >= found.terms.recall - 1e-6
    card = found.as_card()
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    ways = card["expected scores"]
    assert ways[card["recommended"]]["f1"] == max(way["f1"] for way in ways.values())
    assert {name: tuple(way.values()) for name, way in ways.items()} == {
        name: (*expected, expected.f1) for name, expected in zip(("model", "both", "terms"), scored(found), strict=True)
    }


@pytest.mark.parametrize(("precision", "recall"), [(0, 0), (1, 0), (0, 1), (0.5, 0.25), (1, 1)])
def test_f1_is_the_harmonic_mean(precision: float, recall: float) -> None:
    expected = 0.0 if not precision * recall else 2 / (1 / precision + 1 / recall)
    assert math.isclose(Expected(precision, recall).f1, expected)


@pytest.mark.parametrize(
    ("model", "both", "terms", "best"),
    [(0.5, 0.4, 0.3, "model"), (0.4, 0.5, 0.3, "both"), (0.3, 0.4, 0.5, "terms"), (0.5, 0.5, 0.5, "both")],
)
def test_the_highest_f1_is_recommended(model: float, both: float, terms: float, best: str) -> None:
    """In a tie both: what the gazetteer says is then at least as good."""
    outlook = Outlook(*(Expected(f1, f1) for f1 in (model, both, terms)))
    assert outlook.recommended == best
