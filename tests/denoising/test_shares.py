"""The estimated shares of entities: synthetic mixtures with a known share, and properties."""

from __future__ import annotations

from math import exp, log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from mproto.denoising.estimate import MIN_LABELLED
from mproto.denoising.shares import (
    ENTITY_WORDS,
    LABEL_PRECISION,
    MAX_RATIO,
    MIN_SEPARATION,
    SPREAD,
    EntityShares,
    estimate_shares,
)

WORDS = 20_000
PRIOR = (ENTITY_WORDS / exp(1.2816 * SPREAD), ENTITY_WORDS * exp(1.2816 * SPREAD))
"""The central 80 % of the prior of the share of words that belong to entities."""


def mixture(
    entities: float, coverage: float, seed: int, separation: float = 5.0, types: int = 2
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return predictions, labels and true classes.

    Args:
        entities: the share of words that belong to entities.
        coverage: the share of them that is labelled.
        seed: random seed.
        separation: distance between the features of two classes; 0 makes the predictions useless.
        types: number of entity types, equally frequent.
    """
    generator = torch.Generator().manual_seed(seed)
    some_type = torch.randint(1, types + 1, (WORDS,), generator=generator)
    truth = torch.where(torch.rand(WORDS, generator=generator) < entities, some_type, 0)
    labels = torch.where(torch.rand(WORDS, generator=generator) < coverage, truth, 0)
    features = torch.randn(WORDS, types + 1, generator=generator)
    features[torch.arange(WORDS), truth] += separation
    return (max(separation, 1) * features).log_softmax(-1), labels, truth


def unlabelled_share(labels: torch.Tensor, truth: torch.Tensor) -> float:
    return (truth[labels == 0] > 0).double().mean().item()


def check(shares: EntityShares) -> None:
    """Check what is true of every estimate."""
    assert 0 < shares.low <= shares.unlabelled <= shares.high <= 1
    assert shares.classes.sum().item() == pytest.approx(1)
    assert bool((shares.classes >= 0).all())
    assert shares.is_known == (shares.high / shares.low <= MAX_RATIO)
    assert 0 <= shares.separation <= 1
    assert shares.has_evidence == (shares.separation >= MIN_SEPARATION)


@pytest.mark.parametrize("coverage", [0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("entities", [0.04, 0.12, 0.3])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_known_mixture_is_estimated_within_a_factor_of_two(entities: float, coverage: float, seed: int) -> None:
    predictions, labels, truth = mixture(entities, coverage, seed)
    found, expected = estimate_shares(predictions, labels), unlabelled_share(labels, truth)
    check(found)
    assert found.is_known
    assert found.has_evidence
    assert found.low < expected < found.high
    assert expected / 2 < found.unlabelled < 2 * expected
    share = torch.bincount(truth, minlength=3) / len(truth)
    assert bool((share[1:] / 2 < found.classes[1:]).all())
    assert bool((found.classes[1:] < 2 * share[1:]).all())


def test_the_evidence_outweighs_the_prior_far_from_it() -> None:
    """Hardly any entity is missing: the estimate is far below the prior."""
    predictions, labels, truth = mixture(0.03, 0.9, 0)
    assert unlabelled_share(labels, truth) < 0.005
    assert estimate_shares(predictions, labels).unlabelled < 0.01


def test_an_incomplete_type_has_a_larger_share_than_a_complete_one() -> None:
    predictions, labels, truth = mixture(0.2, 1.0, 0)
    hidden = (truth == 2) & (torch.rand(WORDS, generator=torch.Generator().manual_seed(9)) < 0.8)
    found = estimate_shares(predictions, torch.where(hidden, 0, labels))
    missing = found.classes[1:] - LABEL_PRECISION * torch.bincount(torch.where(hidden, 0, labels))[1:] / WORDS
    assert missing[1] > 5 * missing[0]
    assert missing[1].item() == pytest.approx(hidden.double().mean().item(), rel=0.5)


@pytest.mark.parametrize("types", [1, 2, 4])
@pytest.mark.parametrize("coverage", [0.2, 0.5])
def test_useless_predictions_say_nothing(types: int, coverage: float) -> None:
    """Predictions that do not depend on the class: nobody could know the share."""
    predictions, labels, _ = mixture(0.12, coverage, 0, separation=0.0, types=types)
    found = estimate_shares(predictions, labels)
    check(found)
    assert not found.is_known
    assert not found.has_evidence
    assert found.separation < 0.1
    entities = 1 - found.classes[0].item()
    assert PRIOR[0] < entities < PRIOR[1]


@pytest.mark.parametrize("labelled", [0, 1, MIN_LABELLED - 1])
def test_with_few_labels_there_is_only_the_prior(labelled: int) -> None:
    """However good the predictions are."""
    predictions, labels, _ = mixture(0.3, 0.3, 0)
    known = labels.nonzero().flatten()
    labels[known[labelled:]] = 0
    found = estimate_shares(predictions, labels)
    check(found)
    assert not found.is_known
    assert not found.has_evidence
    assert found.separation == 0
    assert found.unlabelled == pytest.approx(ENTITY_WORDS, rel=0.1)
    assert (found.low, found.high) == pytest.approx(PRIOR, rel=0.1)
    labels[known[: 10 * MIN_LABELLED]] = 1
    found = estimate_shares(predictions, labels)
    assert found.is_known
    assert found.has_evidence


def test_perfect_predictions_of_a_complete_dictionary() -> None:
    """No unlabelled word is like any labelled one, so that the bounds are 0."""
    labels = torch.tensor([0] * 2000 + [1] * 200)
    score = torch.linspace(5, 6, len(labels)) * (2 * labels - 1)
    found = estimate_shares(torch.stack([-score, score], 1).log_softmax(-1), labels)
    check(found)
    assert found.unlabelled < 0.02
    assert found.separation == pytest.approx(1)


def test_types_with_few_labels_are_as_incomplete_as_the_others() -> None:
    predictions, labels, _ = mixture(0.12, 0.5, 0, types=3)
    rare = (labels == 3).nonzero().flatten()
    labels[rare[10:]] = 0
    found = estimate_shares(predictions, labels)
    check(found)
    counts = torch.bincount(labels)[1:]
    entities = found.classes[1:] / counts
    assert entities[2].item() == pytest.approx(found.classes[1:3].sum().item() / counts[:2].sum().item())


@given(st.integers(1, 4), st.integers(1, 120), st.floats(0, 1), st.floats(0, 30), st.integers(0, 10**6))
def test_any_predictions_and_labels(types: int, words: int, labelled: float, scale: float, seed: int) -> None:
    """All words labelled or none, types without labels, predictions without a doubt."""
    generator = torch.Generator().manual_seed(seed)
    present = torch.randint(1, types + 1, (), generator=generator).item()  # further types have no label
    some_type = torch.randint(1, int(present) + 1, (words,), generator=generator)
    labels = torch.where(torch.rand(words, generator=generator) < labelled, some_type, 0)
    logits = scale * (torch.randn(words, types + 1, generator=generator) + torch.eye(types + 1)[labels])
    check(estimate_shares(logits.log_softmax(-1), labels))


@pytest.mark.parametrize("unlabelled", [0, 1, 5])
def test_hardly_any_word_without_a_label(unlabelled: int) -> None:
    labels = torch.ones(200, dtype=torch.long)
    labels[:unlabelled] = 0
    predictions = torch.randn(200, 3, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    check(estimate_shares(predictions, labels))


@given(st.integers(2, 4), st.integers(0, 999))
def test_the_order_of_words_and_of_types_does_not_matter(types: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    predictions = (2 * torch.randn(400, types + 1, generator=generator, dtype=torch.float64)).log_softmax(-1)
    labels = torch.randint(0, types + 1, (400,), generator=generator) * (torch.rand(400, generator=generator) < 0.4)
    found = estimate_shares(predictions, labels)
    words = torch.randperm(400, generator=generator)
    order = torch.cat([torch.zeros(1, dtype=torch.long), torch.randperm(types, generator=generator) + 1])
    other = estimate_shares(predictions[words][:, order], order.argsort()[labels[words]])
    assert other.unlabelled == pytest.approx(found.unlabelled)
    assert other.separation == pytest.approx(found.separation)
    torch.testing.assert_close(other.classes, found.classes[order])


@pytest.mark.parametrize(("low", "high", "known"), [(0.02, 0.079, True), (0.02, 0.081, False)])
def test_the_share_is_known_if_the_interval_is_narrow(low: float, high: float, known: bool) -> None:
    assert EntityShares(0.04, low, high, torch.tensor([0.9, 0.1])).is_known == known


def test_the_prior_alone_is_not_knowledge() -> None:
    assert log(MAX_RATIO) < 2 * 1.2816 * SPREAD


@given(st.integers(2, 4), st.floats(-3, 3), st.booleans(), st.integers(0, 999))
def test_the_separation_is_that_of_scikit_learn(classes: int, useful: float, ties: bool, seed: int) -> None:
    """2 · AUC − 1 of labelled words against the others; not below 0 if predictions are worse than a coin."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (200,), generator=generator) * (torch.arange(200) % 2)
    logits = torch.randn(200, classes, generator=generator, dtype=torch.float64)
    logits[:, 0] -= useful * (labels > 0)
    if ties:
        logits[:, 0], logits[:, 1:] = logits[:, 0].round(), 0.0
    entity = logits[:, 1:].logsumexp(-1) - logits[:, 0]
    auc = roc_auc_score((labels > 0).numpy(), entity.numpy().round(9))
    found = estimate_shares(logits.log_softmax(-1), labels)
    assert found.separation == pytest.approx(max(0, 2 * auc - 1), abs=1e-6)


@pytest.mark.parametrize(("separation", "enough"), [(0.0, False), (0.49, False), (0.5, True), (1.0, True)])
def test_there_is_evidence_if_models_tell_words_apart(separation: float, enough: bool) -> None:
    shares = EntityShares(0.04, 0.02, 0.079, torch.tensor([0.9, 0.1]), separation)
    assert MIN_SEPARATION == 0.5
    assert shares.has_evidence == enough
    assert shares.is_known


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_shares_are_restored_from_a_tensor(numbers: list[float], classes: list[float]) -> None:
    unlabelled, low, high, separation = numbers
    shares = EntityShares(unlabelled, low, high, torch.tensor(classes, dtype=torch.float64), separation)
    found = EntityShares.from_tensor(shares.as_tensor())
    assert (found.unlabelled, found.low, found.high, found.separation) == (unlabelled, low, high, separation)
    assert torch.equal(found.classes, shares.classes)


def test_estimated_shares_are_restored_from_a_tensor() -> None:
    shares = estimate_shares(*mixture(0.12, 0.5, 0)[:2])
    found = EntityShares.from_tensor(shares.as_tensor())
    assert found.classes.dtype == shares.classes.dtype
    assert torch.equal(found.as_tensor(), shares.as_tensor())
    assert (found.is_known, found.has_evidence) == (shares.is_known, shares.has_evidence)
