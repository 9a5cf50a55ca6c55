"""Evidence about words: means and neighbours against loops, the regression against scipy and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from mproto.denoising import evidence
from mproto.denoising.evidence import PENALTY, SMOOTHING, Stacking, mean_over_mentions, neighbour_evidence
from mproto.denoising.neighbours import Neighbours, nearest_neighbours

SEEDS = st.integers(0, 999)
IDS = st.lists(st.integers(0, 6), max_size=30)


def log_probabilities(words: int, classes: int, generator: torch.Generator, scale: float = 2.0) -> torch.Tensor:
    logits = scale * torch.randn(words, classes, generator=generator, dtype=torch.float64)
    return logits.log_softmax(-1)


def some_neighbours(words: int, generator: torch.Generator) -> Neighbours:
    """Return three neighbours of each word, perhaps the same one twice."""
    found = torch.randint(words, (words, 3), generator=generator)
    return Neighbours(found, torch.randn(words, 3, generator=generator).softmax(-1))


# Neighbours


@given(IDS, st.integers(0, 7), st.integers(2, 4), SEEDS)
def test_neighbour_evidence_against_a_loop(ids: list[int], known: int, classes: int, seed: int) -> None:
    """Only the first words have neighbours; without any, there are none at all."""
    generator = torch.Generator().manual_seed(seed)
    known = min(known, max(ids, default=-1) + 1)
    neighbours = some_neighbours(known, generator) if known else None
    labels = torch.randint(classes, (len(ids),), generator=generator)
    found = neighbour_evidence(neighbours, torch.tensor(ids, dtype=torch.long), labels, classes)
    assert found.shape == (len(ids), classes)

    def share(number: int, of: int | None = None) -> float:
        own = [label for word, label in zip(ids, labels.tolist(), strict=True) if of in (None, word)]
        return own.count(number) / max(len(own), 1)

    for place, word in enumerate(ids):
        if neighbours is not None and word < known:
            near = list(zip(neighbours.words[word].tolist(), neighbours.weights[word].tolist(), strict=True))
            shares = [sum(weight * share(c, other) for other, weight in near) for c in range(classes)]
        else:
            shares = [share(c) for c in range(classes)]
        total = sum(shares) + classes * SMOOTHING
        expected = [math.log((one + SMOOTHING) / total) for one in shares]
        assert found[place].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_a_missing_term_is_like_its_neighbours() -> None:
    """`England` is not listed, but its neighbours are; `October` and its neighbour are not."""
    embeddings = torch.tensor([[1.0, 0.0], [0.99, 0.1], [0.98, 0.12], [0.0, 1.0], [0.1, 0.99]])
    england, germany, scotland, october, may, unknown = range(6)
    neighbours = nearest_neighbours(embeddings, torch.zeros(5, dtype=torch.bool))
    words = torch.tensor([england, germany, england, scotland, october, may, october, unknown])
    labels = torch.tensor([0, 1, 0, 1, 0, 0, 0, 0])
    found = neighbour_evidence(neighbours, words, labels, 2)[:, 1].exp()
    assert bool((found[words == england] > 0.9).all())
    assert bool((found[words == october] < 0.1).all())
    assert found[words == unknown].tolist() == pytest.approx([(2 / 8 + SMOOTHING) / (1 + 2 * SMOOTHING)])


@given(st.integers(2, 20), st.integers(2, 4), SEEDS)
def test_the_own_labels_of_a_word_do_not_matter(count: int, classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    neighbours = nearest_neighbours(torch.randn(count, 4, generator=generator), torch.arange(count) % 2 == 0)
    words = torch.cat([torch.arange(count), torch.randint(count, (20,), generator=generator)])
    labels, others = torch.randint(classes, (2, len(words)), generator=generator)
    own = words == torch.randint(count, (), generator=generator)
    before = neighbour_evidence(neighbours, words, labels, classes)
    after = neighbour_evidence(neighbours, words, torch.where(own, others, labels), classes)
    torch.testing.assert_close(after[own], before[own])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("with_neighbours", [False, True])
def test_without_labels_all_evidence_is_for_o(classes: int, with_neighbours: bool) -> None:
    neighbours = some_neighbours(5, torch.Generator().manual_seed(0)) if with_neighbours else None
    found = neighbour_evidence(neighbours, torch.arange(8), torch.zeros(8, dtype=torch.long), classes)
    expected = torch.tensor([1 + SMOOTHING] + [SMOOTHING] * (classes - 1)) / (1 + classes * SMOOTHING)
    torch.testing.assert_close(found.exp(), expected.repeat(8, 1))


@given(st.integers(1, 30), st.integers(2, 4), SEEDS)
def test_the_order_of_words_does_not_matter_to_neighbours(count: int, classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    words, labels = torch.arange(count) // 2, torch.randint(classes, (count,), generator=generator)
    neighbours, order = some_neighbours((count + 1) // 2, generator), torch.randperm(count, generator=generator)
    found = neighbour_evidence(neighbours, words, labels, classes)
    torch.testing.assert_close(neighbour_evidence(neighbours, words[order], labels[order], classes), found[order])


# All mentions


@given(IDS, st.integers(2, 4), SEEDS)
def test_the_mean_over_mentions_against_a_loop(ids: list[int], classes: int, seed: int) -> None:
    predictions = log_probabilities(len(ids), classes, torch.Generator().manual_seed(seed))
    found = mean_over_mentions(predictions, torch.tensor(ids, dtype=torch.long))
    assert found.shape == predictions.shape
    for place, word in enumerate(ids):
        mentions = [predictions[other].tolist() for other, own in enumerate(ids) if own == word]
        expected = [sum(column) / len(mentions) for column in zip(*mentions, strict=True)]
        assert found[place].tolist() == pytest.approx(expected)


# Regression


def importance(words: torch.Tensor) -> np.ndarray:
    """Return the weight of each mention, so that those of a word sum to the square root of its number of mentions."""
    ids = words.tolist()
    return np.array([1 / math.sqrt(ids.count(word)) for word in ids])


def odds_of(sources: list[torch.Tensor]) -> np.ndarray:
    """Return the odds against O, (S, N, K − 1)."""
    return np.stack([(source[:, 1:] - source[:, :1]).double().numpy() for source in sources])


def best_weights(odds: np.ndarray, target: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the weights of the sources and the constants that minimise the loss, by scipy."""
    sources, share = len(odds), counts / counts.sum()

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        weights, logs = values[:sources], predicted(odds, values)
        error = share[:, None] * (np.exp(logs) - target)[:, 1:]
        gradient = [(error * one).sum() + 2 * PENALTY * weight for one, weight in zip(odds, weights, strict=True)]
        value = -(share[:, None] * target * logs).sum() + PENALTY * (weights**2).sum()
        return value, np.array([*gradient, *error.sum(0)])

    start = np.zeros(sources + odds.shape[-1])
    return minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x


def predicted(odds: np.ndarray, values: np.ndarray) -> np.ndarray:
    sources = len(odds)
    combined = sum(weight * one for weight, one in zip(values, odds, strict=False)) + values[sources:]
    return log_softmax(np.concatenate([np.zeros((len(combined), 1)), combined], 1), axis=1)


def weights_of(found: torch.Tensor, sources: list[torch.Tensor]) -> tuple[list[float], list[float]]:
    """Return the weights and constants of a regression with two classes, from what it predicts."""
    columns = np.stack([*(one[:, 0] for one in odds_of(sources)), np.ones(len(found))], 1)
    values = np.linalg.lstsq(columns, (found[:, 1] - found[:, 0]).numpy(), rcond=None)[0].tolist()
    return values[:-1], values[-1:]


@settings(max_examples=40)
@given(st.integers(1, 3), st.integers(4, 60), st.integers(2, 4), st.sampled_from([0.0, 0.3, 1.0]), SEEDS)
def test_the_regression_is_that_of_scipy(count: int, size: int, classes: int, noise: float, seed: int) -> None:
    """For classes that are certain or not; each class has a word, so that no constant is infinite."""
    generator = torch.Generator().manual_seed(seed)
    sources = [log_probabilities(size, classes, generator) for _ in range(count)]
    words = torch.randint(max(size // 4, 1), (size,), generator=generator)
    if noise:
        target = noise * log_probabilities(size, classes, generator).exp()
        target += (1 - noise) * torch.eye(classes)[torch.randint(classes, (size,), generator=generator)]
    else:
        target = torch.eye(classes, dtype=torch.float64)[torch.arange(size) % classes]
    found = Stacking(sources, words).fit(target)
    odds = odds_of(sources)
    expected = predicted(odds, best_weights(odds, target.numpy(), importance(words)))
    np.testing.assert_allclose(found.exp().numpy(), np.exp(expected), atol=2e-3)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(size, dtype=torch.float64))


@settings(max_examples=30)
@given(st.integers(20, 80), SEEDS)
def test_with_one_type_the_regression_is_that_of_scikit_learn(size: int, seed: int) -> None:
    """Each word is given twice, as O and as an entity, with the probabilities as weights."""
    generator = torch.Generator().manual_seed(seed)
    sources = [log_probabilities(size, 2, generator) for _ in range(3)]
    words = torch.randint(10, (size,), generator=generator)
    entity = torch.rand(size, generator=generator, dtype=torch.float64)
    found = Stacking(sources, words).fit(torch.stack([1 - entity, entity], 1))
    features = odds_of(sources)[..., 0].T
    share = importance(words) / importance(words).sum()
    judge = LogisticRegression(C=1 / (2 * PENALTY), tol=1e-9, max_iter=1000)
    judge.fit(
        np.concatenate([features, features]),
        np.repeat([0, 1], size),
        sample_weight=np.concatenate([share * (1 - entity.numpy()), share * entity.numpy()]),
    )
    np.testing.assert_allclose(found.exp().numpy(), judge.predict_proba(features), atol=1e-3)


def test_words_count_with_the_square_root_of_their_mentions() -> None:
    """Four mentions of an entity, one of another word, and sources that say nothing."""
    words, entity = torch.tensor([7, 7, 0, 7, 7]), torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0])
    found = Stacking([torch.full((5, 2), -0.7)] * 3, words).fit(torch.stack([1 - entity, entity], 1))
    assert found.exp()[:, 1].tolist() == pytest.approx([2 / 3] * 5, abs=1e-4)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_useful_source_gets_a_weight_and_a_useless_one_does_not(seed: int) -> None:
    """The useful one gives the very probabilities from which the classes are drawn."""
    generator = torch.Generator().manual_seed(seed)
    useful, useless = (log_probabilities(8000, 2, generator) for _ in range(2))
    classes = torch.multinomial(useful.exp(), 1, generator=generator).squeeze(-1)
    sources = [useless, useful]
    found = Stacking(sources, torch.arange(8000)).fit(torch.eye(2)[classes])
    weights, constants = weights_of(found, sources)
    assert weights == pytest.approx([0, 1], abs=0.1)
    assert constants == pytest.approx([0], abs=0.1)


def test_a_source_that_is_wrong_by_a_factor_is_corrected() -> None:
    """All odds are twice as large as they should be, and entities too rare by a factor of e³."""
    generator = torch.Generator().manual_seed(0)
    right = log_probabilities(8000, 2, generator)
    classes = torch.multinomial(right.exp(), 1, generator=generator).squeeze(-1)
    wrong = (2 * right - 3 * torch.tensor([0.0, 1.0])).log_softmax(-1)
    found = Stacking([wrong], torch.arange(8000)).fit(torch.eye(2)[classes])
    weights, constants = weights_of(found, [wrong])
    assert weights == pytest.approx([0.5], abs=0.05)
    assert constants == pytest.approx([1.5], abs=0.15)


@settings(max_examples=40)
@given(st.integers(5, 60), st.integers(2, 4), SEEDS)
def test_the_order_of_words_and_types_does_not_matter(size: int, classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    sources = [log_probabilities(size, classes, generator) for _ in range(3)]
    words, target = torch.arange(size) // 3, log_probabilities(size, classes, generator).exp()
    found = Stacking(sources, words).fit(target).exp()
    order = torch.randperm(size, generator=generator)
    types = torch.cat([torch.zeros(1, dtype=torch.long), torch.randperm(classes - 1, generator=generator) + 1])
    moved = Stacking([source[order][:, types] for source in sources], words[order]).fit(target[order][:, types]).exp()
    torch.testing.assert_close(moved, found[order][:, types], rtol=0, atol=1e-3)


def test_of_many_words_the_regression_is_fitted_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """1000 words and at most 300 of them: every fourth. All mentions of a word count, drawn or not."""
    generator = torch.Generator().manual_seed(0)
    sources = [log_probabilities(1000, 3, generator) for _ in range(2)]
    words = torch.randint(300, (1000,), generator=generator).sort().values
    target = log_probabilities(1000, 3, generator).exp()
    whole = Stacking(sources, words).fit(target)
    monkeypatch.setattr(evidence, "MOST_WORDS", 300)
    found = Stacking(sources, words).fit(target)
    odds = odds_of(sources)
    values = best_weights(odds[:, ::4], target[::4].numpy(), importance(words)[::4])
    np.testing.assert_allclose(found.exp().numpy(), np.exp(predicted(odds, values)), atol=1e-3)
    assert (found - whole).abs().max() > 0.05
    monkeypatch.setattr(evidence, "MOST_WORDS", 1000)
    assert torch.equal(Stacking(sources, words).fit(target), whole)


def test_fitting_needs_no_gradients_and_changes_no_argument() -> None:
    generator = torch.Generator().manual_seed(0)
    source, target = log_probabilities(30, 3, generator), log_probabilities(30, 3, generator).exp()
    copies = source.clone(), target.clone()
    stacking = Stacking([source], torch.arange(30))
    expected = stacking.fit(target)
    assert not expected.requires_grad
    with torch.no_grad():
        assert torch.equal(stacking.fit(target), expected)
    assert torch.equal(source, copies[0])
    assert torch.equal(target, copies[1])


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([1e-12, 0.5, 1.0])), max_size=12),
    st.sampled_from([1, 3]),
    st.integers(2, 4),
)
def test_any_sources_and_targets(mentions: list[tuple[int, int, float]], count: int, classes: int) -> None:
    """Also without words, with one class alone, and with predictions without a doubt."""
    ids, labels, sure = zip(*mentions, strict=True) if mentions else ((), (), ())
    p = torch.tensor(sure).reshape(-1, 1)
    source = torch.cat([1 - p, p.expand(-1, classes - 1) / (classes - 1)], 1).clamp_min(1e-12).log()
    target = torch.eye(classes)[torch.tensor(labels, dtype=torch.long).clamp_max(classes - 1)]
    found = Stacking([source] * count, torch.tensor(ids, dtype=torch.long)).fit(target)
    assert found.shape == (len(mentions), classes)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(len(mentions), dtype=torch.float64))


def test_without_labels_every_word_is_o() -> None:
    source = log_probabilities(200, 3, torch.Generator().manual_seed(0)).float()
    target = torch.tensor([1.0, 0.0, 0.0]).repeat(200, 1)
    found = Stacking([source, source, source], torch.arange(200) // 2).fit(target)
    assert bool((found[:, 0].exp() > 0.99).all())
