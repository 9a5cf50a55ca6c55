"""The oracle of the paper's training step agrees with POT, with examples computed by hand and with its definition."""

import math

import numpy as np
import ot
import pytest

from oracles.paper_step import (
    PaperStep,
    StepResult,
    assign,
    cosine_similarity,
    distance,
    kept_words,
    other_marginal,
    sinkhorn_knopp,
    transport_plan,
    updated_prototypes,
)

CLASSES, PER_CLASS, WIDTH = 3, 2, 7
WEIGHTS = {"alpha": 0.9, "beta": 0.05, "compactness": 0.1}


@pytest.fixture(params=range(5))
def random(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def a_batch(random: np.random.Generator, words: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features around the prototypes, labels of which some are wrongly O, and the prototypes."""
    prototypes = random.normal(size=(CLASSES, PER_CLASS, WIDTH)) * random.uniform(0.5, 3, size=(CLASSES, PER_CLASS, 1))
    true = random.integers(CLASSES, size=words)
    features = prototypes[true, random.integers(PER_CLASS, size=words)] + random.normal(size=(words, WIDTH))
    labels = np.where(random.random(words) < 0.4, 0, true)
    return features, labels, prototypes


# Similarity


def test_similarity_of_two_words_by_hand() -> None:
    h = np.array([[3.0, 0.0], [1.0, 1.0]])
    prototypes = np.array([[[0.0, 2.0]], [[5.0, 0.0]]])
    root = math.sqrt(0.5)
    np.testing.assert_allclose(cosine_similarity(h, prototypes)[:, :, 0], [[0, 1], [root, root]], atol=1e-15)


def test_length_of_features_and_prototypes_does_not_change_the_similarity(random: np.random.Generator) -> None:
    h, _, prototypes = a_batch(random)
    longer = cosine_similarity(7 * h, prototypes * random.uniform(0.1, 10, size=(CLASSES, PER_CLASS, 1)))
    np.testing.assert_allclose(longer, cosine_similarity(h, prototypes), atol=1e-14)


# Sinkhorn-Knopp


@pytest.mark.parametrize("iterations", [1, 2, 7, 100])
@pytest.mark.parametrize("regularization", [0.001, 0.1])
def test_the_plan_is_that_of_pot(random: np.random.Generator, iterations: int, regularization: float) -> None:
    h, labels, prototypes = a_batch(random)
    cost = distance(cosine_similarity(h[labels == 0], prototypes)).reshape(-1, CLASSES * PER_CLASS)
    a, b = np.ones(len(cost)), other_marginal(len(cost), CLASSES, PER_CLASS, 0.05)
    expected = ot.sinkhorn(
        a, b, cost, regularization, method="sinkhorn_log", numItermax=iterations, stopThr=0, warn=False
    )
    np.testing.assert_allclose(sinkhorn_knopp(a, b, cost, regularization, iterations), expected, atol=1e-9)


def test_one_iteration_by_hand() -> None:
    # K = [[1, 1/2], [1/4, 1]] and u = 1, so K^T u = [5/4, 3/2] and v = [4/5, 2/3].
    # K v = [17/15, 13/15], so u = [15/17, 15/13].
    cost = np.log([[1.0, 2.0], [4.0, 1.0]])
    plan = sinkhorn_knopp(np.ones(2), np.ones(2), cost, regularization=1.0, iterations=1)
    np.testing.assert_allclose(plan, [[12 / 17, 5 / 17], [3 / 13, 10 / 13]], atol=1e-15)


def test_scaling_without_logarithms_gives_the_same_plan(random: np.random.Generator) -> None:
    cost = random.random((9, 4))
    a, b = np.ones(9), np.array([4.0, 3.0, 1.5, 0.5])
    kernel, u = np.exp(-cost / 0.2), np.ones(9)
    for _ in range(13):
        v = b / (kernel.T @ u)
        u = a / (kernel @ v)
    np.testing.assert_allclose(sinkhorn_knopp(a, b, cost, 0.2, 13), u[:, None] * kernel * v[None, :], atol=1e-13)


def test_rows_sum_to_a_after_any_number_of_iterations_and_columns_to_b_at_convergence(
    random: np.random.Generator,
) -> None:
    cost = random.random((20, 4))
    a, b = np.ones(20), np.array([10.0, 6.0, 3.0, 1.0])
    early = sinkhorn_knopp(a, b, cost, 0.05, 1)
    late = sinkhorn_knopp(a, b, cost, 0.05, 2000)
    np.testing.assert_allclose(early.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(late.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(late.sum(axis=0), b, atol=1e-6)
    assert np.abs(early.sum(axis=0) - b).max() > 1e-3  # the fixed number of iterations matters


# Assignment


def assigned(
    h: np.ndarray, labels: np.ndarray, prototypes: np.ndarray, *, beta: float, regularization: float = 0.001
) -> tuple[np.ndarray, np.ndarray]:
    """Return the prototype of every word, and whether it is kept."""
    target = assign(transport_plan(h, labels, prototypes, beta, regularization))
    return target, kept_words(labels, target, prototypes.shape[1])


def test_every_word_gets_a_prototype_and_only_words_labelled_o_are_left_out(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    target, kept = assigned(h, labels, prototypes, beta=0.05)
    assert ((target >= 0) & (target < CLASSES * PER_CLASS)).all()
    np.testing.assert_array_equal(target[labels > 0] // PER_CLASS, labels[labels > 0])
    np.testing.assert_array_equal(kept, (target // PER_CLASS) == labels)
    assert kept[labels > 0].all()
    assert kept[labels == 0].any()
    assert not kept.all()


def test_entity_words_are_spread_evenly_over_the_prototypes_of_their_class() -> None:
    # All four words prefer prototype 0. The two with the stronger preference get it.
    angles = np.array([0.0, 0.1, 0.3, 0.4])
    h = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    entity = np.array([[1.0, 0.0], [0.0, 1.0]])
    prototypes = np.stack([-entity, entity])
    target, kept = assigned(h, np.ones(4, dtype=int), prototypes, beta=0.5, regularization=0.01)
    assert cosine_similarity(h, prototypes)[:, 1].argmax(axis=1).tolist() == [0, 0, 0, 0]
    assert target.tolist() == [2, 2, 3, 3]
    assert kept.all()


def test_the_right_side_of_the_denoised_transport_by_hand() -> None:
    b = other_marginal(words=100, classes=3, per_class=2, beta=0.1)
    np.testing.assert_allclose(b, [5.0, 5.0, 22.5, 22.5, 22.5, 22.5])


def test_a_word_labelled_o_next_to_an_entity_prototype_is_left_out() -> None:
    h = np.array([[1.0, 0.1], [1.0, 0.0], [0.9, -0.1], [0.0, 1.0]])
    prototypes = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    target, kept = assigned(h, np.zeros(4, dtype=int), prototypes, beta=0.75, regularization=0.05)
    assert target.tolist() == [0, 0, 0, 1]
    assert kept.tolist() == [True, True, True, False]


def test_beta_of_one_keeps_every_word(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    assert assigned(h, labels, prototypes, beta=1.0)[1].all()


def test_assignment_depends_on_neither_the_order_of_words_nor_their_length(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    target, _ = assigned(h, labels, prototypes, beta=0.05)
    order = random.permutation(len(h))
    moved, _ = assigned(h[order] * random.uniform(0.5, 2, size=(len(h), 1)), labels[order], prototypes, beta=0.05)
    np.testing.assert_array_equal(moved, target[order])


def test_the_rows_of_all_plans_sum_to_one(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    plan = transport_plan(h, labels, prototypes, beta=0.05)
    np.testing.assert_allclose(plan.sum(axis=1), 1, atol=1e-12)
    for c in (1, 2):
        assert (plan[labels == c][:, np.arange(CLASSES * PER_CLASS) // PER_CLASS != c] == 0).all()


def test_another_implementation_may_break_ties_and_nothing_else() -> None:
    # The only word of class 1 has no choice: its row of the plan must be b. So its prototypes 2 and 3 tie.
    prototypes = np.array([[[1.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [-1.0, 1.0]]])
    plan = transport_plan(np.array([[0.1, 1.0]]), np.array([1]), prototypes, beta=0.5)
    np.testing.assert_allclose(plan, [[0, 0, 0.5, 0.5]], atol=1e-12)
    assert assign(plan).tolist() == [2]
    assert [assign(plan, np.array([chosen])).tolist() for chosen in range(4)] == [[2], [2], [2], [3]]


# The step


def a_tiny_step() -> StepResult:
    """Return a step of four words in two classes with one prototype each.

    The similarities of the words to the O prototype and to the entity prototype are (1, 0), (1, 0), (0.6, 0.8) and
    (0, 1). The first three are labelled O. With ``beta`` = 2/3, the transport assigns the third to the entity.
    """
    h = np.array([[2.0, 0.0], [4.0, 0.0], [3.0, 4.0], [0.0, 5.0]])
    prototypes = np.array([[[1.0, 0.0]], [[0.0, 10.0]]])
    labels = np.array([0, 0, 0, 1])
    return PaperStep(prototypes, alpha=0.75, beta=2 / 3, compactness=0.5).step(h, labels)


def test_a_tiny_step_by_hand() -> None:
    result = a_tiny_step()
    assert result.target.tolist() == [0, 0, 1, 1]
    assert result.kept.tolist() == [True, True, False, True]
    assert result.cross_entropy == pytest.approx(math.log(math.e + 1) - 1)
    assert result.compactness == 0
    # O: 3/4 (1, 0) + 1/4 (3, 0). Entity: 3/4 (0, 10) + 1/4 (0, 5), without the third word.
    np.testing.assert_allclose(result.prototypes, [[[1.5, 0.0]], [[0.0, 8.75]]])
    # The similarity of word 0 to the entity has the gradient (0, 1/2); that to O, its maximum, has the gradient 0.
    probability = 1 / (math.e + 1)
    np.testing.assert_allclose(result.gradient[0], [0, probability / 2 / 3], atol=1e-15)
    np.testing.assert_allclose(result.gradient[1], [0, probability / 4 / 3], atol=1e-15)
    np.testing.assert_allclose(result.gradient[3], [probability / 5 / 3, 0], atol=1e-15)


def test_the_losses_of_one_oblique_word_by_hand() -> None:
    prototypes = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    result = PaperStep(prototypes, alpha=0.9, beta=0.5, compactness=0.5).step(np.array([[3.0, 4.0]]), np.array([1]))
    assert result.cross_entropy == pytest.approx(math.log(math.exp(0.6) + math.exp(0.8)) - 0.8)
    assert result.compactness == pytest.approx(0.04)
    assert result.loss == pytest.approx(result.cross_entropy + 0.5 * 0.04)
    np.testing.assert_allclose(result.prototypes, [[[1.0, 0.0]], [[0.3, 1.3]]])


def losses_in_words(h: np.ndarray, prototypes: np.ndarray, target: np.ndarray, kept: np.ndarray) -> tuple[float, float]:
    """Return both losses word by word, as eq. CE and eq. CompactLoss are written, divided by the kept words."""
    cross_entropy, compactness, words = 0.0, 0.0, 0
    for i in range(len(h)):
        if not kept[i]:
            continue
        s = [h[i] @ p / math.sqrt((h[i] @ h[i]) * (p @ p)) for p in prototypes.reshape(-1, prototypes.shape[-1])]
        cross_entropy -= math.log(math.exp(s[target[i]]) / sum(math.exp(x) for x in s))
        compactness += (1 - s[target[i]]) ** 2
        words += 1
    return cross_entropy / words, compactness / words


def test_the_losses_are_the_equations_word_by_word(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    result = PaperStep(prototypes, **WEIGHTS).step(h, labels)
    cross_entropy, compactness = losses_in_words(h, prototypes, result.target, result.kept)
    assert result.cross_entropy == pytest.approx(cross_entropy, abs=1e-12)
    assert result.compactness == pytest.approx(compactness, abs=1e-12)
    assert result.loss == pytest.approx(cross_entropy + 0.1 * compactness, abs=1e-12)


def test_the_gradient_is_that_of_finite_differences_at_a_fixed_assignment(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random, words=20)
    result = PaperStep(prototypes, **WEIGHTS).step(h, labels)
    for i, k in [(i, k) for i in range(len(h)) for k in range(0, WIDTH, 3)]:
        ends = []
        for change in (1e-5, -1e-5):
            moved = h.copy()
            moved[i, k] += change
            cross_entropy, compactness = losses_in_words(moved, prototypes, result.target, result.kept)
            ends.append(cross_entropy + 0.1 * compactness)
        assert result.gradient[i, k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)


def test_words_left_out_change_neither_losses_nor_prototypes(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    target, kept = assigned(h, labels, prototypes, beta=0.05)
    result = PaperStep(prototypes, **WEIGHTS).step(h, labels)
    assert not kept.all()
    assert (result.gradient[~kept] == 0).all()
    assert (np.abs(result.gradient[kept]).max(axis=1) > 0).all()
    changed = np.where(kept[:, None], h, 100 * h)
    np.testing.assert_array_equal(updated_prototypes(changed, target, kept, prototypes, 0.9), result.prototypes)


def test_prototypes_without_a_word_stay_and_the_others_move_towards_the_mean(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    labels = np.where(labels == 2, 1, labels)  # no word of class 2
    result = PaperStep(prototypes, **WEIGHTS).step(h, labels)
    np.testing.assert_array_equal(result.prototypes[2], prototypes[2])
    for index in set(result.target[result.kept].tolist()):
        mean = h[result.kept & (result.target == index)].mean(axis=0)
        before, after = (p.reshape(-1, WIDTH)[index] for p in (prototypes, result.prototypes))
        np.testing.assert_allclose(after - mean, 0.9 * (before - mean), atol=1e-12)


def test_steps_continue_from_the_prototypes_of_the_last_step(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    both = PaperStep(prototypes, **WEIGHTS)
    first = both.step(h, labels)
    second = both.step(h[::-1], labels[::-1])
    alone = PaperStep(first.prototypes, **WEIGHTS).step(h[::-1], labels[::-1])
    np.testing.assert_array_equal(second.prototypes, alone.prototypes)
    assert second.loss == alone.loss
    assert not np.array_equal(first.prototypes, second.prototypes)


def test_the_given_prototypes_are_not_changed(random: np.random.Generator) -> None:
    h, labels, prototypes = a_batch(random)
    before = prototypes.copy()
    PaperStep(prototypes, **WEIGHTS).step(h, labels)
    np.testing.assert_array_equal(prototypes, before)


def test_without_a_kept_word_the_losses_are_zero_and_nothing_moves() -> None:
    prototypes = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    result = PaperStep(prototypes, alpha=0.5, beta=0.0, compactness=0.5).step(np.array([[1.0, 0.0]]), np.array([0]))
    assert not result.kept.any()
    assert (result.cross_entropy, result.compactness, result.loss) == (0, 0, 0)
    assert (result.gradient == 0).all()
    np.testing.assert_array_equal(result.prototypes, prototypes)
