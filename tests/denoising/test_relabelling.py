"""Relabelling: the transport against POT and a convex dual, words labelled O also against scikit-learn; loops; by hand."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from mproto.denoising import relabelling
from mproto.denoising.evidence import PENALTY
from mproto.denoising.relabelling import (
    LABEL_TRUST,
    MIN_LIKELIHOOD,
    POOLED,
    SMALLEST,
    SURELY_ENTITY,
    SURELY_OTHER,
    SURELY_RIGHT,
    Relabelled,
    decode,
    label_likelihood,
    pool_mentions,
    relabel,
    transport_to_classes,
    transport_to_entities,
)
from mproto.denoising.shares import EntityShares

SEEDS = st.integers(0, 999)


def log_probabilities(words: int, classes: int, seed: int) -> torch.Tensor:
    """Return random predictions, most of them O."""
    logits = 2 * torch.randn(words, classes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    logits[:, 0] += 1
    return logits.log_softmax(-1)


def random_shares(classes: int, seed: int) -> torch.Tensor:
    shares = torch.rand(classes, generator=torch.Generator().manual_seed(seed + 5000), dtype=torch.float64) + 0.05
    return shares / shares.sum()


def entity_shares(classes: torch.Tensor, unlabelled: float = 0.1) -> EntityShares:
    return EntityShares(unlabelled, unlabelled, unlabelled, classes)


def random_corpus(words: int, classes: int, seed: int, labelled: float = 0.5) -> tuple[torch.Tensor, ...]:
    """Return predictions, evidence of neighbours, labels and ids, which say nothing about each other."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(1, classes, (words,), generator=generator)
    labels *= torch.rand(words, generator=generator) < labelled
    ids = torch.randint(max(words // 3, 1), (words,), generator=generator)
    return log_probabilities(words, classes, seed), log_probabilities(words, classes, seed + 1000), labels, ids


def relabel_alone(
    predictions: torch.Tensor, labels: torch.Tensor, ids: torch.Tensor, shares: EntityShares
) -> Relabelled:
    """Relabel words of one document, whose neighbours say nothing, neither in the text nor by their embeddings."""
    classes = len(shares.classes)
    nothing = torch.zeros_like(predictions).log_softmax(-1)
    return relabel(predictions, nothing, labels, ids, shares, [len(labels)], torch.zeros(classes, classes))


def best_path(probability: torch.Tensor, lengths: list[int], change: torch.Tensor) -> list[int]:
    """Return the most likely classes of documents: the best of all sequences."""
    found: list[int] = []
    for part in probability.clamp_min(SMALLEST).log().split(lengths):
        scores = {
            path: sum(part[i, c].item() for i, c in enumerate(path))
            + sum(change[pair].item() for pair in pairwise(path))
            for path in product(range(probability.shape[1]), repeat=len(part))
        }
        found += max(scores, key=lambda path: scores[path])
    return found


# Transport


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


@given(st.integers(1, 60), st.integers(2, 5), st.floats(0.01, 0.9), SEEDS)
def test_entities_receive_their_share_and_types_stay_as_they_are(
    words: int, classes: int, share: float, seed: int
) -> None:
    predictions = log_probabilities(words, classes, seed)
    found = transport_to_entities(predictions, share)
    assert found.shape == (words, classes)
    torch.testing.assert_close(found.sum(-1), torch.ones(words, dtype=torch.float64))
    assert (1 - found[:, 0]).mean().item() == pytest.approx(share, abs=1e-6)
    types = predictions[:, 1:].softmax(-1)
    torch.testing.assert_close(found[:, 1:], types * (1 - found[:, :1]), rtol=0, atol=1e-9)


@given(st.integers(2, 60), st.integers(2, 5), st.floats(0.01, 0.9), SEEDS)
def test_all_odds_of_entities_are_multiplied_with_one_factor(words: int, classes: int, share: float, seed: int) -> None:
    """With the only factor that gives entities their share."""
    entity = 1 - log_probabilities(words, classes, seed).exp()[:, 0].numpy()

    def shifted(log_factor: float) -> np.ndarray:
        return expit(logit(entity) + log_factor)

    log_factor = brentq(lambda value: shifted(value).mean() - share, -50, 50, xtol=1e-12)
    found = transport_to_entities(log_probabilities(words, classes, seed), share)
    np.testing.assert_allclose(1 - found[:, 0].numpy(), shifted(log_factor), atol=1e-6)


def test_transport_to_entities_by_hand() -> None:
    """The odds 1 : 4 and 4 : 1 of entities have the mean 1 : 1. With 16 times these odds, the mean is 83 %."""
    p = torch.tensor([[0.8, 0.15, 0.05], [0.2, 0.2, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(transport_to_entities(p.log(), 0.5), p, rtol=0, atol=1e-7)
    many = (4 / 5 + 64 / 65) / 2
    expected = torch.tensor([[1 / 5, 0.75 * 4 / 5, 0.25 * 4 / 5], [1 / 65, 16 / 65, 48 / 65]], dtype=torch.float64)
    torch.testing.assert_close(transport_to_entities(p.log(), many), expected, rtol=0, atol=1e-6)


# Labelled words


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
    found = relabel_alone(torch.stack([1 - p, p], 1).log(), labels, torch.arange(10), entity_shares(shares))
    likely = 0.7 * 0.325 / (0.7 * 0.325 + 0.3 * wrong)  # 0.87
    unlikely = 0.1 * 0.325 / (0.1 * 0.325 + 0.9 * wrong)  # 0.24
    assert found.probability[[0, 5], 1].tolist() == pytest.approx([likely, unlikely])
    assert found.labels[[0, 5]].tolist() == [1, 0]
    assert found.left_out[[0, 5]].tolist() == [False, True]


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(2, 4), SEEDS)
def test_labelled_words_are_weighed_by_bayes_rule(words: int, classes: int, seed: int) -> None:
    """With the plan of POT for all words; what neighbours say, and how many words lack a label, does not matter."""
    predictions, neighbours, labels, ids = random_corpus(words, classes, seed)
    shares = random_shares(classes, seed)
    cost = -pool_mentions(predictions, ids).numpy()
    plan = ot.sinkhorn(np.ones(words), words * shares.numpy(), cost, reg=1.0, numItermax=5000, stopThr=1e-12)
    likelihood = label_likelihood(labels, shares).numpy()
    change = torch.zeros(classes, classes)
    for unlabelled in (0.05, 0.5):
        found = relabel(predictions, neighbours, labels, ids, entity_shares(shares, unlabelled), [words], change)
        for word, label in enumerate(labels.tolist()):
            if label:
                joint = plan[word] * likelihood[:, label]
                assert found.probability[word].tolist() == pytest.approx(joint / joint.sum(), abs=1e-6)
        neighbours = neighbours.flip(0)


# Words labelled O


def stacked(sources: list[np.ndarray], counts: np.ndarray, entity: np.ndarray) -> np.ndarray:
    """Return the entity probability (N,) that a logistic regression of scikit-learn predicts.

    Each word is given twice, as O and as an entity, with the probabilities as weights.
    """
    features, share = np.stack(sources, 1), counts / counts.sum()
    judge = LogisticRegression(C=1 / (2 * PENALTY), tol=1e-9, max_iter=1000)
    importance = np.concatenate([share * (1 - entity), share * entity])
    judge.fit(np.concatenate([features, features]), np.repeat([0, 1], len(features)), sample_weight=importance)
    return judge.predict_proba(features)[:, 1]


@settings(max_examples=25)
@given(st.integers(30, 100), st.floats(0.02, 0.8), SEEDS)
def test_words_without_a_label_against_scikit_learn_and_pot(words: int, share: float, seed: int) -> None:
    """With one type: regression, transport, and both again with the result in place of the labels O."""
    predictions, neighbours, labels, ids = random_corpus(words, 2, seed)
    one, near = ((source[:, 1] - source[:, 0]).numpy() for source in (predictions, neighbours))
    given_ids = ids.numpy()
    every = np.array([one[given_ids == word].mean() for word in given_ids])
    counts = np.array([(given_ids == word).sum() ** -0.5 for word in given_ids])
    other, entity = labels.numpy() == 0, labels.numpy().astype(float)
    mass = other.sum() * np.array([1 - share, share])
    for _ in range(2):
        p = stacked([one, every, near], counts, entity)[other]
        cost = -np.log(np.stack([1 - p, p], 1))
        entity[other] = ot.sinkhorn(np.ones(len(p)), mass, cost, reg=1.0, numItermax=5000, stopThr=1e-12)[:, 1]
    shares = entity_shares(random_shares(2, seed), share)
    found = relabel(predictions, neighbours, labels, ids, shares, [words], torch.zeros(2, 2))
    np.testing.assert_allclose(found.probability[:, 1].numpy()[other], entity[other], atol=2e-3)


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(2, 4), st.sampled_from([0.0, 0.3, 0.9]), st.floats(0.001, 0.9), SEEDS)
def test_words_without_a_label_contain_the_estimated_share_of_entities(
    words: int, classes: int, labelled: float, share: float, seed: int
) -> None:
    """The shares of the classes, which labelled words are transported to, do not matter to them."""
    predictions, neighbours, labels, ids = random_corpus(words, classes, seed, labelled)
    lengths, change = [words], torch.zeros(classes, classes)
    shares = entity_shares(random_shares(classes, seed), share)
    found = relabel(predictions, neighbours, labels, ids, shares, lengths, change).probability
    torch.testing.assert_close(found.sum(-1), torch.ones(words, dtype=torch.float64))
    other = labels == 0
    if bool(other.any()):
        assert (1 - found[other, 0]).mean().item() == pytest.approx(share, abs=1e-5)
    shares = entity_shares(random_shares(classes, seed + 1), share)
    again = relabel(predictions, neighbours, labels, ids, shares, lengths, change).probability
    assert torch.equal(again[other], found[other])


def test_a_single_unlabelled_entity_is_found() -> None:
    """A tenth of the words are labelled, and one word in a thousand is like them but has no label."""
    labels = torch.tensor([1] * 100 + [0] * 900)
    p = torch.full((1000,), 1e-4, dtype=torch.float64)
    p[:101] = 0.9
    shares = entity_shares(torch.tensor([0.899, 0.101]), 1 / 900)
    found = relabel_alone(torch.stack([1 - p, p], 1).log(), labels, torch.arange(1000), shares)
    assert found.labels.tolist() == [1] * 101 + [0] * 899
    assert not bool(found.left_out.any())


# Decisions


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(2, 3), SEEDS)
def test_decoding_finds_the_most_likely_classes_of_a_document(lengths: list[int], classes: int, seed: int) -> None:
    """Against all sequences of classes."""
    change = torch.randn(classes, classes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    predictions = log_probabilities(sum(lengths), classes, seed)
    assert decode(predictions, lengths, change).tolist() == best_path(predictions.exp(), lengths, change)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(2, 3), st.floats(0.05, 0.7), SEEDS)
def test_labels_and_words_left_out_follow_from_the_probabilities(
    lengths: list[int], classes: int, share: float, seed: int
) -> None:
    """Some pairs of classes are so rare that even hardly possible classes are better."""
    words = sum(lengths)
    predictions, neighbours, labels, ids = random_corpus(words, classes, seed)
    predictions = (10 * predictions).log_softmax(-1)
    change = 10 * torch.randn(classes, classes, generator=torch.Generator().manual_seed(seed))
    shares = entity_shares(random_shares(classes, seed), share)
    found = relabel(predictions, neighbours, labels, ids, shares, lengths, change)
    paths = best_path(found.probability, lengths, change)
    for p, label, best, learnt, left_out in zip(
        found.probability.tolist(), labels.tolist(), paths, found.labels.tolist(), found.left_out.tolist(), strict=True
    ):
        if label and p[label] >= SURELY_RIGHT:  # its label is learnt, whatever the words around it are
            assert (learnt, left_out) == (label, False)
        elif label:
            assert (learnt, left_out) == (best, True)
        elif best:
            assert (learnt, left_out) == (best, sum(p[1:]) < SURELY_ENTITY)
        else:
            assert (learnt, left_out) == (best, sum(p[1:]) > SURELY_OTHER)


def test_every_decision_occurs() -> None:
    """Words with and without a label, that the decoding finds to be O or not, are learnt or left out."""
    noise, neighbours, labels, ids = random_corpus(2000, 3, 0, labelled=0.2)
    predictions = (noise + 2 * torch.eye(3)[labels]).log_softmax(-1)
    shares = entity_shares(torch.tensor([0.6, 0.2, 0.2]), 0.3)
    change = 3 * torch.eye(3) - 1  # runs of one class
    found = relabel(predictions, neighbours, labels, ids, shares, [50] * 40, change)
    kinds = {tuple(kind) for kind in torch.stack([labels > 0, found.labels > 0, found.left_out], 1).tolist()}
    assert kinds == set(product([False, True], repeat=3)) - {(True, False, False)}  # such a label is learnt as it is
    trusted = (labels > 0) & ~found.left_out
    assert torch.equal(found.labels[trusted], labels[trusted])
    decoded = decode(found.probability.clamp_min(SMALLEST).log(), [50] * 40, change.double())
    assert bool((decoded != labels)[trusted].any())


@pytest.mark.parametrize("change", [0.0, 1.0])
def test_an_entity_stays_in_one_piece(change: float) -> None:
    """The words of `5 - HT` are held out from different models, and one of these did not recognise the hyphen."""
    p = torch.tensor([0.01, 0.95, 0.4, 0.95, 0.01] + [0.01] * 95)
    runs = torch.tensor([[0.0, -change], [-change, 2 * change]])
    found = decode(torch.stack([1 - p, p], 1).log(), [5] * 20, runs)
    assert found.tolist() == [0, 1, int(change), 1, 0] + [0] * 95


def test_long_documents_are_decoded_in_parts_and_short_ones_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths, classes = [7, 0, 1, 12, 3, 7], 3
    predictions = log_probabilities(30, classes, 0)
    change = 2 * torch.randn(classes, classes, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def found(lengths: list[int]) -> list[int]:
        return decode(predictions, lengths, change).tolist()

    whole = found(lengths)
    monkeypatch.setattr(relabelling, "GROUP", 8)  # one long document, or two short ones
    assert found(lengths) == whole
    parts = found([5, 2, 1, 5, 5, 2, 3, 5, 2])
    assert parts != whole
    monkeypatch.setattr(relabelling, "LONGEST", 5)
    assert found(lengths) == parts


@settings(max_examples=30)
@given(st.lists(st.integers(0, 8), min_size=1, max_size=6), st.integers(2, 5), SEEDS)
def test_the_order_of_documents_and_of_types_does_not_matter(lengths: list[int], classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    words = sum(lengths)
    predictions, neighbours, labels, ids = random_corpus(words, classes, seed)
    shares = random_shares(classes, seed)
    change = torch.randn(classes, classes, generator=generator)
    found = relabel(predictions, neighbours, labels, ids, entity_shares(shares), lengths, change)

    order = torch.randperm(len(lengths), generator=generator).tolist()
    parts = torch.arange(words).split(lengths)
    places = torch.cat([parts[document] for document in order])
    moved = [lengths[document] for document in order]
    shuffled = relabel(
        predictions[places], neighbours[places], labels[places], ids[places], entity_shares(shares), moved, change
    )
    torch.testing.assert_close(shuffled.probability, found.probability[places], rtol=0, atol=1e-3)
    assert torch.equal(shuffled.labels, found.labels[places])
    assert torch.equal(shuffled.left_out, found.left_out[places])

    types = torch.cat([torch.zeros(1, dtype=torch.long), torch.randperm(classes - 1, generator=generator) + 1])
    renamed = relabel(
        predictions[:, types],
        neighbours[:, types],
        types.argsort()[labels],
        ids,
        entity_shares(shares[types]),
        lengths,
        change[types][:, types],
    )
    torch.testing.assert_close(renamed.probability, found.probability[:, types], rtol=0, atol=1e-3)
    assert torch.equal(types[renamed.labels], found.labels)
    assert torch.equal(renamed.left_out, found.left_out)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from([0.0, 1e-12, 0.3, 1.0])), max_size=30),
    st.sampled_from([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 0.5, 0.5], [0.02, 0.9, 0.08]]),
    st.sampled_from([1e-4, 0.1, 0.9]),
    st.sampled_from([[0], [1, 2], [0, 1, 2]]),
)
def test_extreme_predictions_and_shares(
    mentions: list[tuple[int, int, float]], classes: list[float], unlabelled: float, allowed: list[int]
) -> None:
    """Also types without any word, all words labelled or none, and corpora without any."""
    ids, labels, sure = zip(*mentions, strict=True) if mentions else ((), (), ())
    p = torch.tensor([[1 - s, s / 2, s / 2] for s in sure]).reshape(-1, 3).clamp_min(1e-12)
    words = torch.tensor(ids, dtype=torch.long)
    given = torch.tensor([allowed[label % len(allowed)] for label in labels], dtype=torch.long)
    found = relabel_alone(p.log(), given, words, entity_shares(torch.tensor(classes), unlabelled))
    torch.testing.assert_close(found.probability.sum(-1), torch.ones(len(mentions), dtype=torch.float64))
    assert bool((found.probability >= 0).all())
    assert found.left_out.shape == found.labels.shape == words.shape
    chosen = found.probability.gather(1, found.labels.unsqueeze(-1)).squeeze(-1)
    assert torch.equal(chosen, found.probability.amax(-1))


# Corpora whose true classes are known


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


def useful_neighbours(truth: torch.Tensor, ids: torch.Tensor, right: float) -> torch.Tensor:
    """Return evidence of neighbours: half of them are labelled, if the word is an entity, and few if not."""
    generator = torch.Generator().manual_seed(7)
    of_word = torch.zeros(WORDS, dtype=torch.long).scatter(0, ids, truth)
    wrong = torch.randint(3, (WORDS,), generator=generator)
    of_word = torch.where(torch.rand(WORDS, generator=generator) < right, of_word, wrong)
    share = torch.tensor([[0.94, 0.03, 0.03], [0.5, 0.47, 0.03], [0.5, 0.03, 0.47]])
    return share.log()[of_word][ids]


def true_shares(labels: torch.Tensor, truth: torch.Tensor) -> EntityShares:
    classes = torch.bincount(truth, minlength=3).double() / len(truth)
    return entity_shares(classes, (truth[labels == 0] > 0).double().mean().item())


def corrected(seed: int, bias: float) -> tuple[Relabelled, torch.Tensor, torch.Tensor]:
    predictions, labels, ids, truth = corpus(seed, bias)
    return relabel_alone(predictions, labels, ids, true_shares(labels, truth)), labels, truth


def check(found: Relabelled, labels: torch.Tensor, truth: torch.Tensor) -> None:
    """Check that most gaps are filled, that most wrong labels are not learnt, and that hardly anything else changes."""
    gaps, wrong = (labels == 0) & (truth > 0), (labels > 0) & (truth == 0)
    right, others = (labels > 0) & (truth > 0), (labels == 0) & (truth == 0)
    assert int(gaps.sum()) > 400
    assert int(wrong.sum()) > 40
    learnt = ~found.left_out
    for words, least in ((gaps, 0.8), (right, 0.95), (others, 0.99)):
        assert (found.labels == truth)[words & learnt].double().mean() > 0.98
        assert learnt[words].double().mean() > least
    assert learnt[wrong].double().mean() < 0.2


@pytest.mark.parametrize("bias", [0.0, 4.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gaps_are_filled_and_wrong_labels_rejected(seed: int, bias: float) -> None:
    check(*corrected(seed, bias))


def test_the_transport_finds_what_biased_models_miss() -> None:
    predictions, labels, _, truth = corpus(0, bias=20.0)
    gaps = (labels == 0) & (truth > 0)
    assert (predictions.argmax(-1) == truth)[gaps].double().mean() < 0.5
    found, _, _ = corrected(0, bias=20.0)
    assert (found.labels == truth)[gaps & ~found.left_out].double().mean() > 0.98
    assert found.left_out[gaps].double().mean() < 0.1


def test_neighbours_help_if_models_have_learnt_nothing() -> None:
    """And useless neighbours do no harm if models are good."""
    predictions, labels, ids, truth = corpus(0, bias=0.0)
    shares, gaps, change = true_shares(labels, truth), (labels == 0) & (truth > 0), torch.zeros(3, 3)
    useless = log_probabilities(len(labels), 3, 0)
    near = useful_neighbours(truth, ids, right=0.99)
    found = relabel(useless, near, labels, ids, shares, [len(labels)], change)
    assert (found.labels == truth)[gaps].double().mean() > 0.9
    lost = relabel(useless, useless, labels, ids, shares, [len(labels)], change)
    assert (lost.labels == truth)[gaps].double().mean() < 0.1
    check(
        relabel(predictions, useful_neighbours(truth, ids, right=0.0), labels, ids, shares, [len(labels)], change),
        labels,
        truth,
    )
