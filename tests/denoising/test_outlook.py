"""Expected scores of the model, the terms and both: by hand, against the true scores, and properties."""

from __future__ import annotations

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.denoising.outlook import Expected, Outlook, compare
from mproto.denoising.shares import EntityShares

WORDS = 50_000


def shares(unlabelled: float, classes: int = 3) -> EntityShares:
    return EntityShares(unlabelled, unlabelled / 2, 2 * unlabelled, torch.full((classes,), 1 / classes))


def true_scores(found: torch.Tensor, truth: torch.Tensor) -> Expected:
    right = int(((found == truth) & (truth > 0)).sum())
    return Expected(right / max(int((found > 0).sum()), 1), right / max(int((truth > 0).sum()), 1))


def scored(outlook: Outlook) -> list[Expected]:
    return [outlook.model, outlook.both, outlook.terms]


def test_by_hand() -> None:
    """Of four labels one is rejected; the model finds one of the three others as another type.

    A sixteenth of the 96 unlabelled words are entities, six; the model calls five unlabelled words entities.
    """
    labels = torch.tensor([1, 1, 2, 2] + [0] * 96)
    decided = torch.tensor([1, 1, 2, 0] + [0] * 96)
    predicted = torch.tensor([1, 2, 2, 2] + [1, 2, 1, 2, 1] + [0] * 91)
    found = compare(predicted, labels, decided, shares(1 / 16))
    more = 6 * 2 / 3  # entities without a label that the model finds
    assert tuple(found.model) == pytest.approx(((3 + more) / (3 + 5), (3 + more) / (3 + 6)))
    assert tuple(found.both) == pytest.approx(((3 + more) / (4 + 5), (3 + more) / (3 + 6)))
    assert tuple(found.terms) == pytest.approx((3 / 4, 3 / 9))
    assert found.recommended == "model"
    assert found.terms.f1 == pytest.approx(2 * 3 / (4 + 9))


def corpus(seed: int, coverage: float) -> tuple[torch.Tensor, torch.Tensor, EntityShares]:
    """Return labels, true classes and the true shares; all labels are right."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.multinomial(torch.tensor([0.85, 0.1, 0.05]), WORDS, replacement=True, generator=generator)
    labels = torch.where(torch.rand(WORDS, generator=generator) < coverage, truth, 0)
    return labels, truth, shares((truth[labels == 0] > 0).double().mean().item())


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9])
def test_a_perfect_model(coverage: float) -> None:
    labels, truth, known = corpus(0, coverage)
    found = compare(truth, labels, truth, known)
    assert tuple(found.model) == pytest.approx((1, 1))
    assert tuple(found.both) == pytest.approx((1, 1))
    assert tuple(found.terms) == pytest.approx(tuple(true_scores(labels, truth)))
    assert found.recommended == "both"


def test_a_perfect_model_is_better_alone_if_labels_are_wrong() -> None:
    labels, truth, known = corpus(0, 0.5)
    labels[(truth == 0).nonzero().flatten()[:1000]] = 1
    found = compare(truth, labels, truth, known)
    assert found.recommended == "model"
    assert found.terms.precision == pytest.approx(true_scores(labels, truth).precision)
    assert found.both.precision < found.model.precision


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_for_a_useless_model_the_terms_are_recommended(seed: int) -> None:
    """Its predictions have nothing to do with the words."""
    labels, truth, known = corpus(seed, 0.5)
    predicted = torch.randint(3, (WORDS,), generator=torch.Generator().manual_seed(seed + 10))
    found = compare(predicted, labels, labels, known)
    assert found.recommended == "terms"
    assert tuple(found.terms) == pytest.approx(tuple(true_scores(labels, truth)))
    assert found.model.precision < 0.4 < found.terms.precision


def test_a_model_that_finds_nothing_is_as_good_as_the_terms() -> None:
    labels, _, known = corpus(0, 0.5)
    found = compare(torch.zeros_like(labels), labels, labels, known)
    assert found.model == found.both == found.terms


@pytest.mark.parametrize("recall", [0.3, 0.8])
@pytest.mark.parametrize("false", [0.005, 0.05])
@pytest.mark.parametrize("coverage", [0.2, 0.7])
def test_expected_scores_are_about_the_true_ones(recall: float, false: float, coverage: float) -> None:
    """A model that finds labelled and unlabelled entities alike; trained on them, it also finds all labelled ones."""
    labels, truth, known = corpus(1, coverage)
    generator = torch.Generator().manual_seed(2)
    hit, wrong = (torch.rand(WORDS, generator=generator) < share for share in (recall, false))
    predicted = torch.where(truth > 0, torch.where(hit, truth, 0), wrong.long())
    found = compare(predicted, labels, labels, known)
    trained = torch.where(labels > 0, labels, predicted)
    assert tuple(found.model) == pytest.approx(tuple(true_scores(trained, truth)), abs=0.02)
    assert found.both == found.model
    assert tuple(found.terms) == pytest.approx(tuple(true_scores(labels, truth)), abs=0.01)


@given(st.integers(0, 40), st.integers(2, 4), st.floats(0, 1), st.integers(0, 10**6))
def test_scores_are_between_0_and_1(words: int, classes: int, unlabelled: float, seed: int) -> None:
    """Whatever is predicted, also without labels or words."""
    generator = torch.Generator().manual_seed(seed)
    sparse = torch.rand(3, words, generator=generator) < torch.rand(3, 1, generator=generator)
    predicted, labels, decided = torch.randint(classes, (3, words), generator=generator) * sparse
    found = compare(predicted, labels, decided, shares(unlabelled, classes))
    for expected in scored(found):
        assert all(0 <= value <= 1 for value in (*expected, expected.f1))
        assert min(expected) - 1e-12 <= expected.f1 <= max(expected) + 1e-12
    assert found.model.recall == found.both.recall >= found.terms.recall
    assert found.model.precision >= found.both.precision
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
