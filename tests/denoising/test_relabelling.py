"""Relabelling: the transport to classes against POT and a convex dual, the rest against loops and by hand."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import ot
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from mproto.denoising import relabelling
from mproto.denoising.relabelling import (
    LABEL_TRUST,
    MIN_LIKELIHOOD,
    POOLED,
    SMALLEST,
    Relabelled,
    label_likelihood,
    pool_mentions,
    relabel,
    transport_to_classes,
)

SEEDS = st.integers(0, 999)


def log_probabilities(words: int, classes: int, seed: int) -> torch.Tensor:
    """Return random predictions, most of them O."""
    logits = 2 * torch.randn(words, classes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    logits[:, 0] += 1
    return logits.log_softmax(-1)


def random_shares(classes: int, seed: int) -> torch.Tensor:
    shares = torch.rand(classes, generator=torch.Generator().manual_seed(seed + 5000), dtype=torch.float64) + 0.05
    return shares / shares.sum()


def relabel_alone(
    predictions: torch.Tensor, labels: torch.Tensor, ids: torch.Tensor, shares: torch.Tensor
) -> Relabelled:
    """Relabel words whose neighbours say nothing."""
    classes = len(shares)
    return relabel(predictions, labels, ids, shares, [len(labels)], torch.zeros(classes, classes))


@given(st.integers(1, 80), st.integers(2, 5), SEEDS)
def test_rows_of_the_plan_sum_to_one_and_columns_to_the_shares(words: int, classes: int, seed: int) -> None:
    shares = random_shares(classes, seed)
    plan = transport_to_classes(log_probabilities(words, classes, seed), shares)
    torch.testing.assert_close(plan.sum(-1), torch.ones(words, dtype=torch.float64))
    torch.testing.assert_close(plan.mean(0), shares, rtol=0, atol=1e-6)


@given(st.integers(2, 60), st.integers(2, 5), SEEDS)
def test_the_plan_is_that_of_pot(words: int, classes: int, seed: int) -> None:
    predictions, shares = log_probabilities(words, classes, seed), random_shares(classes, seed)
    ones, mass = np.ones(words), words * shares.numpy()
    plan = ot.sinkhorn(ones, mass, -predictions.numpy(), reg=1.0, numItermax=5000, stopThr=1e-12)
    np.testing.assert_allclose(transport_to_classes(predictions, shares).numpy(), plan, atol=1e-6)


@given(st.integers(2, 60), st.integers(2, 5), SEEDS)
def test_the_plan_is_the_prediction_times_one_factor_for_each_class(words: int, classes: int, seed: int) -> None:
    """Such factors are unique. They maximise Σ share · log factor − the mean log Σ factor · p: a concave dual."""
    predictions, shares = log_probabilities(words, classes, seed), random_shares(classes, seed).numpy()
    p = predictions.exp().numpy()

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        weighted = p * np.exp(logs - logs.mean())
        sums = weighted.sum(1)
        gradient = (weighted / sums[:, None]).mean(0) - shares
        return np.log(sums).mean() - shares @ (logs - logs.mean()), gradient

    best = minimize(loss, np.zeros(classes), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    expected = p * np.exp(best - best.mean())
    expected /= expected.sum(1, keepdims=True)
    plan = transport_to_classes(predictions, torch.tensor(shares)).numpy()
    np.testing.assert_allclose(plan, expected, atol=1e-5)


@given(st.integers(1, 60), st.integers(2, 5), SEEDS)
def test_predictions_with_the_right_shares_do_not_change(words: int, classes: int, seed: int) -> None:
    predictions = log_probabilities(words, classes, seed)
    plan = transport_to_classes(predictions, predictions.exp().mean(0))
    torch.testing.assert_close(plan, predictions.exp(), rtol=0, atol=1e-8)


def test_only_the_proportions_of_the_shares_matter() -> None:
    predictions, shares = log_probabilities(30, 3, 0), random_shares(3, 0)
    torch.testing.assert_close(transport_to_classes(predictions, shares), transport_to_classes(predictions, 7 * shares))


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(2, 4), SEEDS)
def test_pooling_against_a_loop(ids: list[int], classes: int, seed: int) -> None:
    predictions = log_probabilities(len(ids), classes, seed)
    found = pool_mentions(predictions, torch.tensor(ids, dtype=torch.long))
    assert found.shape == predictions.shape
    for place, word in enumerate(ids):
        mentions = [predictions[other].tolist() for other, own in enumerate(ids) if own == word]
        means = [sum(column) / len(mentions) for column in zip(*mentions, strict=True)]
        mixed = [
            (1 - POOLED) * own + POOLED * mean for own, mean in zip(predictions[place].tolist(), means, strict=True)
        ]
        total = math.log(sum(math.exp(value) for value in mixed))
        assert found[place].tolist() == pytest.approx([value - total for value in mixed])


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4), SEEDS)
def test_each_class_has_a_distribution_of_labels(types: list[tuple[int, int]], seed: int) -> None:
    """Given labelled and unlabelled words of each type, per 500 words. Only if hardly any entity lacks a label, the minimum
    probability of no label applies, and the sum is a little too large."""
    counts = [500 - sum(labelled for labelled, _ in types), *(labelled for labelled, _ in types)]
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    entities = [(LABEL_TRUST * labelled + unlabelled) / 500 for labelled, unlabelled in types]
    found = label_likelihood(labels, torch.tensor([1 - sum(entities), *entities]))
    assert found.shape == (len(counts), len(counts))
    assert bool((found >= 0).all())
    assert bool((found[:, 0] >= MIN_LIKELIHOOD).all())
    sums, complete = found.sum(-1), found[:, 0] == MIN_LIKELIHOOD
    torch.testing.assert_close(sums[~complete], torch.ones_like(sums[~complete]))
    assert bool(((sums >= 1 - 1e-9) & (sums < 1.1)).all())
    assert not bool(complete[1:][torch.tensor([unlabelled > labelled for labelled, unlabelled in types])].any())


def test_bayes_by_hand() -> None:
    """Ten words, two of them labelled; four of ten are entities. The predictions already have this share."""
    p = torch.tensor([0.7] * 5 + [0.1] * 5, dtype=torch.float64)
    labels = torch.tensor([1, 0, 0, 0, 0, 1, 0, 0, 0, 0])
    shares = torch.tensor([0.6, 0.4], dtype=torch.float64)
    assert LABEL_TRUST == 0.65
    # 1.3 of the 2 labels are on the 4 entities, 0.7 on the 6 other words.
    wrong = 0.7 / 6
    torch.testing.assert_close(
        label_likelihood(labels, shares),
        torch.tensor([[1 - wrong, wrong], [0.675, 0.325]], dtype=torch.float64),
    )
    found = relabel_alone(torch.stack([1 - p, p], 1).log(), labels, torch.arange(10), shares)
    entity = {
        (0.7, 1): 0.7 * 0.325 / (0.7 * 0.325 + 0.3 * wrong),  # 0.87
        (0.7, 0): 0.7 * 0.675 / (0.7 * 0.675 + 0.3 * (1 - wrong)),  # 0.64
        (0.1, 1): 0.1 * 0.325 / (0.1 * 0.325 + 0.9 * wrong),  # 0.24
        (0.1, 0): 0.1 * 0.675 / (0.1 * 0.675 + 0.9 * (1 - wrong)),  # 0.08
    }
    expected = [entity[pair] for pair in zip(p.tolist(), labels.tolist(), strict=True)]
    assert found.probability[:, 1].tolist() == pytest.approx(expected)
    assert found.labels.tolist() == [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]


def test_unlabelled_words_can_be_entities_even_if_all_seem_to_be_labelled() -> None:
    """The share of the class equals the share of its labels that are right."""
    labels = torch.tensor([1] * 100 + [0] * 900)
    p = torch.full((1000,), 1e-4, dtype=torch.float64)
    p[:100] = 0.9
    p[100] = 1 - 1e-6
    shares = torch.tensor([0.915, 0.085])
    found = relabel_alone(torch.stack([1 - p, p], 1).log(), labels, torch.arange(1000), shares)
    assert found.labels[100] == 1
    assert not bool(found.labels[101:].any())


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(2, 3), SEEDS)
def test_the_labels_are_the_most_likely_ones_of_a_document(lengths: list[int], classes: int, seed: int) -> None:
    """Against all sequences of classes."""
    generator = torch.Generator().manual_seed(seed)
    words = sum(lengths)
    labels, ids = torch.randint(classes, (words,), generator=generator), torch.randint(5, (words,), generator=generator)
    change = torch.randn(classes, classes, generator=generator)
    found = relabel(log_probabilities(words, classes, seed), labels, ids, random_shares(classes, seed), lengths, change)
    expected: list[int] = []
    for part in found.probability.clamp_min(SMALLEST).log().split(lengths):
        scores = {
            path: sum(part[i, c].item() for i, c in enumerate(path))
            + sum(change[pair].item() for pair in pairwise(path))
            for path in product(range(classes), repeat=len(part))
        }
        expected += max(scores, key=lambda path: scores[path])
    assert found.labels.tolist() == expected


@pytest.mark.parametrize("change", [0.0, 1.0])
def test_an_entity_stays_in_one_piece(change: float) -> None:
    """The words of `5 - HT` are held out from different models, and one of these did not recognise the hyphen."""
    p = torch.tensor([0.01, 0.95, 0.4, 0.95, 0.01] + [0.01] * 95)
    runs = torch.tensor([[0.0, -change], [-change, 2 * change]])
    labels = torch.zeros(100, dtype=torch.long)
    shares = torch.tensor([1 - p.mean().item(), p.mean().item()])
    found = relabel(torch.stack([1 - p, p], 1).log(), labels, torch.arange(100), shares, [5] * 20, runs)
    assert found.labels[:5].tolist() == [0, 1, int(change), 1, 0]
    assert not bool(found.labels[5:].any())


def test_long_documents_are_decoded_in_parts_and_short_ones_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths, classes = [7, 0, 1, 12, 3, 7], 3
    predictions, shares = log_probabilities(30, classes, 0), random_shares(classes, 0)
    labels, ids = torch.arange(30) % classes, torch.arange(30) % 11
    change = 2 * torch.randn(classes, classes, generator=torch.Generator().manual_seed(1))

    def found(lengths: list[int]) -> list[int]:
        return relabel(predictions, labels, ids, shares, lengths, change).labels.tolist()

    whole = found(lengths)
    monkeypatch.setattr(relabelling, "GROUP", 8)  # one long document, or two short ones
    assert found(lengths) == whole
    parts = found([5, 2, 1, 5, 5, 2, 3, 5, 2])
    assert parts != whole
    monkeypatch.setattr(relabelling, "LONGEST", 5)
    assert found(lengths) == parts


@given(st.lists(st.integers(0, 8), min_size=1, max_size=6), st.integers(2, 5), SEEDS)
def test_the_order_of_documents_and_of_types_does_not_matter(lengths: list[int], classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    words = sum(lengths)
    predictions, shares = log_probabilities(words, classes, seed), random_shares(classes, seed)
    labels = torch.randint(classes, (words,), generator=generator)
    ids = torch.randint(10, (words,), generator=generator)
    change = torch.randn(classes, classes, generator=generator)
    found = relabel(predictions, labels, ids, shares, lengths, change)

    order = torch.randperm(len(lengths), generator=generator).tolist()
    parts = torch.arange(words).split(lengths)
    places = torch.cat([parts[document] for document in order])
    moved = [lengths[document] for document in order]
    shuffled = relabel(predictions[places], labels[places], ids[places], shares, moved, change)
    torch.testing.assert_close(shuffled.probability, found.probability[places])
    assert torch.equal(shuffled.labels, found.labels[places])

    types = torch.cat([torch.zeros(1, dtype=torch.long), torch.randperm(classes - 1, generator=generator) + 1])
    renamed = relabel(
        predictions[:, types], types.argsort()[labels], ids, shares[types], lengths, change[types][:, types]
    )
    torch.testing.assert_close(renamed.probability, found.probability[:, types])
    assert torch.equal(types[renamed.labels], found.labels)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from([0.0, 1e-12, 0.3, 1.0])), max_size=30),
    st.sampled_from([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 0.5, 0.5], [0.02, 0.9, 0.08]]),
)
def test_extreme_predictions_and_shares(mentions: list[tuple[int, int, float]], shares: list[float]) -> None:
    """Also types without any word, and corpora without any."""
    ids, labels, sure = zip(*mentions, strict=True) if mentions else ((), (), ())
    p = torch.tensor([[1 - s, s / 2, s / 2] for s in sure]).reshape(-1, 3).clamp_min(1e-12)
    words, given = torch.tensor(ids, dtype=torch.long), torch.tensor(labels, dtype=torch.long)
    found = relabel_alone(p.log(), given, words, torch.tensor(shares))
    torch.testing.assert_close(found.probability.sum(-1), torch.ones(len(mentions), dtype=torch.float64))
    assert bool((found.probability >= 0).all())
    chosen = found.probability.gather(1, found.labels.unsqueeze(-1)).squeeze(-1)
    assert torch.equal(chosen, found.probability.amax(-1))


WORDS, MENTIONS = 2000, 6


def corpus(seed: int, bias: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return predictions, labels, ids and true classes of a corpus. A tenth of its words are entities of two types.

    Half of the entities are missing from the dictionary, which lists a few other words, too. The predictions are Bayes'
    rule on a noisy feature, as calibrated as can be, but for a bias: entities are e^bias times less likely.
    """
    generator = torch.Generator().manual_seed(seed)
    prior = torch.tensor([0.9, 0.06, 0.04])
    of_word = torch.multinomial(prior, WORDS, replacement=True, generator=generator)
    listed = torch.where(torch.rand(WORDS, generator=generator) < 0.5, of_word, 0)
    wrong = (of_word == 0) & (torch.rand(WORDS, generator=generator) < 0.008)
    listed[wrong] = torch.randint(1, 3, (int(wrong.sum()),), generator=generator)
    ids = torch.arange(WORDS).repeat(MENTIONS)
    truth = of_word[ids]
    centres = 4.0 * torch.eye(3)
    features = centres[truth] + torch.randn(len(ids), 3, generator=generator)
    logits = features @ centres.T + prior.log()
    logits[:, 1:] -= bias
    return logits.log_softmax(-1), listed[ids], ids, truth


def corrected(seed: int, bias: float) -> tuple[Relabelled, torch.Tensor, torch.Tensor]:
    predictions, labels, ids, truth = corpus(seed, bias)
    shares = torch.bincount(truth, minlength=3) / len(truth)
    return relabel_alone(predictions, labels, ids, shares), labels, truth


@pytest.mark.parametrize("bias", [0.0, 4.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gaps_are_filled_and_wrong_labels_rejected(seed: int, bias: float) -> None:
    found, labels, truth = corrected(seed, bias)
    gaps, wrong = (labels == 0) & (truth > 0), (labels > 0) & (truth == 0)
    right, others = (labels > 0) & (truth > 0), (labels == 0) & (truth == 0)
    assert int(gaps.sum()) > 400
    assert int(wrong.sum()) > 40
    learnt = found.labels == truth
    assert learnt[gaps].double().mean() > 0.9
    assert learnt[wrong].double().mean() > 0.8
    assert learnt[right].double().mean() > 0.99
    assert learnt[others].double().mean() > 0.99


def test_the_transport_finds_what_biased_models_miss() -> None:
    predictions, labels, _, truth = corpus(0, bias=20.0)
    gaps = (labels == 0) & (truth > 0)
    assert (predictions.argmax(-1) == truth)[gaps].double().mean() < 0.5
    found, _, _ = corrected(0, bias=20.0)
    assert (found.labels == truth)[gaps].double().mean() > 0.9
