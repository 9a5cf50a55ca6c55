"""Losses by hand, identities, and gradients at extreme values; those of the paper and our additions."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cross_entropy

from mproto.extensions import losses as ours
from mproto.extensions.losses import class_logits, labelled_weights, weighted_mean
from mproto.method import losses as papers

CLASS_OF = torch.tensor([0, 0, 1, 1])
SIMILARITY = torch.tensor([[0.9, 0.1, -0.5, 0.0], [0.2, 0.8, 0.6, -1.0], [0.0, -0.3, 1.0, 0.7]], dtype=torch.float64)
TARGET, LABELS = torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1])
SIZES = st.lists(st.integers(1, 4), min_size=2, max_size=4)
SEEDS = st.integers(0, 10**6)
TEMPERATURES = st.sampled_from([0.01, 0.1, 0.5, 1.0, 2.0])


def groups(sizes: list[int]) -> Tensor:
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))


def words(count: int, prototypes: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.rand(count, prototypes, generator=generator, dtype=torch.float64) - 1


# Means over words, as in a training step


def mean(losses: Tensor, weights: Tensor | None = None) -> Tensor:
    return weighted_mean(losses, torch.ones_like(losses) if weights is None else weights)


def prototype_cross_entropy(s: Tensor, target: Tensor, temperature: float = 1.0, w: Tensor | None = None) -> Tensor:
    return mean(papers.prototype_cross_entropy(s, target, temperature), w)


def compactness(s: Tensor, target: Tensor, w: Tensor | None = None) -> Tensor:
    return mean(papers.squared_distance(s, target), w)


def class_cross_entropy(
    s: Tensor, labels: Tensor, class_of: Tensor, temperature: float = 1.0, w: Tensor | None = None
) -> Tensor:
    return mean(ours.class_cross_entropy(s, labels, class_of, temperature), w)


# By hand


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_prototype_cross_entropy_by_hand(temperature: float) -> None:
    e = lambda s: math.exp(s / temperature)  # noqa: E731
    expected = -(
        math.log(e(0.9) / (e(0.9) + e(0.1) + e(-0.5) + e(0)))
        + math.log(e(0.6) / (e(0.2) + e(0.8) + e(0.6) + e(-1)))
        + math.log(e(0.7) / (e(0) + e(-0.3) + e(1) + e(0.7)))
    )
    assert float(prototype_cross_entropy(SIMILARITY, TARGET, temperature)) == pytest.approx(expected / 3)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_class_cross_entropy_by_hand(temperature: float) -> None:
    e = lambda s: math.exp(s / temperature)  # noqa: E731
    expected = -(
        math.log((e(0.9) + e(0.1)) / (e(0.9) + e(0.1) + e(-0.5) + e(0)))
        + math.log((e(0.6) + e(-1)) / (e(0.2) + e(0.8) + e(0.6) + e(-1)))
        + math.log((e(1) + e(0.7)) / (e(0) + e(-0.3) + e(1) + e(0.7)))
    )
    assert float(class_cross_entropy(SIMILARITY, LABELS, CLASS_OF, temperature)) == pytest.approx(expected / 3)


def test_compactness_by_hand() -> None:
    assert float(compactness(SIMILARITY, TARGET)) == pytest.approx((0.1**2 + 0.4**2 + 0.3**2) / 3)


def test_with_one_temperature_fifteen_prototypes_never_get_near_zero() -> None:
    """The largest probability that cosines can give: e / (e + 14 / e) = 0.35, so the loss is at least 1.06."""
    best = torch.full((1, 15), -1.0)
    best[0, 4] = 1.0
    target = torch.tensor([4])
    assert math.exp(-float(prototype_cross_entropy(best, target))) == pytest.approx(0.345, abs=1e-3)
    assert float(prototype_cross_entropy(best, target, 0.05)) < 1e-6


# Identities


@settings(max_examples=40)
@given(SIZES, st.integers(0, 6), SEEDS, TEMPERATURES)
def test_class_logits_are_logarithms_of_sums(sizes: list[int], count: int, seed: int, temperature: float) -> None:
    similarity = words(count, sum(sizes), seed)
    parts = (similarity / temperature).split(sizes, dim=1)
    expected = torch.stack([torch.logsumexp(part, 1) for part in parts], 1)
    torch.testing.assert_close(class_logits(similarity, groups(sizes), temperature), expected)
    single = class_logits(similarity.float(), groups(sizes), temperature)
    torch.testing.assert_close(single, expected.float(), rtol=1e-4, atol=1e-4)


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(1, 6), SEEDS, TEMPERATURES)
def test_with_one_prototype_each_both_cross_entropies_are_one(
    classes: int, count: int, seed: int, temperature: float
) -> None:
    similarity, target = words(count, classes, seed), torch.arange(count) % classes
    over_classes = class_cross_entropy(similarity, target, torch.arange(classes), temperature)
    over_prototypes = prototype_cross_entropy(similarity, target, temperature)
    torch.testing.assert_close(over_classes, over_prototypes)
    torch.testing.assert_close(over_prototypes, cross_entropy(similarity / temperature, target))


@settings(max_examples=40)
@given(SIZES, st.integers(1, 6), SEEDS, TEMPERATURES)
def test_merging_forgives_the_nearness_of_the_own_class(
    sizes: list[int], count: int, seed: int, temperature: float
) -> None:
    """The merged loss is at most the paper's, and the prototypes of a class may change places."""
    similarity, class_of = words(count, sum(sizes), seed), groups(sizes)
    target = torch.arange(count) % sum(sizes)
    labels = class_of[target]
    merged = class_cross_entropy(similarity, labels, class_of, temperature)
    assert merged <= prototype_cross_entropy(similarity, target, temperature) + 1e-9
    mirrored = torch.cat([part.flip(1) for part in similarity.split(sizes, 1)], 1)
    torch.testing.assert_close(class_cross_entropy(mirrored, labels, class_of, temperature), merged)


@settings(max_examples=40)
@given(st.integers(1, 6), SEEDS, TEMPERATURES)
def test_temperature_scales(count: int, seed: int, temperature: float) -> None:
    similarity, target, class_of = words(count, 4, seed), torch.arange(count) % 4, CLASS_OF
    for given_as in (temperature, torch.tensor(temperature, dtype=torch.float64)):
        torch.testing.assert_close(
            prototype_cross_entropy(similarity, target, given_as),
            prototype_cross_entropy(similarity / temperature, target),
        )
        torch.testing.assert_close(
            class_logits(similarity, class_of, given_as), class_logits(similarity / temperature, class_of)
        )


@settings(max_examples=40)
@given(st.integers(1, 6), SEEDS)
def test_losses_are_per_word(count: int, seed: int) -> None:
    similarity, target = words(count, 4, seed), torch.arange(count) % 4
    for loss in (
        prototype_cross_entropy,
        compactness,
        lambda s, t: class_cross_entropy(s, CLASS_OF[t], CLASS_OF),
    ):
        alone = [float(loss(similarity[i : i + 1], target[i : i + 1])) for i in range(count)]
        assert float(loss(similarity, target)) == pytest.approx(sum(alone) / count)


@settings(max_examples=40)
@given(st.integers(1, 6), SEEDS)
def test_compactness_is_zero_only_at_the_prototype(count: int, seed: int) -> None:
    similarity, target = words(count, 4, seed), torch.arange(count) % 4
    assert compactness(similarity, target) > 0
    assert compactness(similarity.scatter(1, target.unsqueeze(-1), 1.0), target) == 0


# Gradients

LOSSES: list[Callable[[Tensor, Tensor, Tensor], Tensor]] = [
    lambda s, target, t: prototype_cross_entropy(s, target, t),
    lambda s, target, t: class_cross_entropy(s, CLASS_OF[target], CLASS_OF, t),
    lambda s, target, t: compactness(s, target) * t,
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_gradients_are_the_derivatives(loss: Callable[..., Tensor], temperature: float) -> None:
    similarity = SIMILARITY.clone().requires_grad_()
    learnt = torch.tensor(temperature, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s, t: loss(s, TARGET, t), (similarity, learnt))


@pytest.mark.parametrize("loss", LOSSES)
def test_without_words_the_loss_is_zero_and_can_be_added(loss: Callable[..., Tensor]) -> None:
    similarity = torch.zeros(0, 4, requires_grad=True)
    nothing = loss(similarity, torch.zeros(0, dtype=torch.long), 1.0)
    assert nothing.shape == ()
    assert nothing == 0
    nothing.backward()
    assert similarity.grad is not None
    assert similarity.grad.shape == (0, 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [0.01, 0.001])
def test_a_word_at_the_wrong_class_is_pulled_with_full_force_at_a_low_temperature(
    temperature: float, dtype: torch.dtype
) -> None:
    """Its own class has a probability of e^−200 or less, which is 0 in float32; its gradient is not."""
    similarity = torch.tensor([[1.0, 0.9, -1.0, -0.9], [-1.0, 1.0, -1.0, 1.0]], dtype=dtype, requires_grad=True)
    loss = class_cross_entropy(similarity, torch.tensor([1, 0]), CLASS_OF, temperature)
    assert loss.item() == pytest.approx((1.9 / temperature + math.log(2)) / 2, rel=1e-4)
    (gradient,) = torch.autograd.grad(loss, similarity)
    assert gradient.isfinite().all()
    full = 1 / temperature / 2
    assert float(gradient[0, :2].sum()) == pytest.approx(full)
    assert float(gradient[0, 2:].sum()) == pytest.approx(-full)

    plain = prototype_cross_entropy(similarity, torch.tensor([3, 0]), temperature)
    assert plain.item() == pytest.approx((1.9 / temperature + 2 / temperature + math.log(2)) / 2, rel=1e-4)
    assert torch.autograd.grad(plain, similarity)[0].isfinite().all()


# Weights of words


def test_labelled_weights_by_hand() -> None:
    labels = torch.tensor([0, 0, 0, 1])
    assert labelled_weights(labels, 0.0).tolist() == [1, 1, 1, 1]
    assert labelled_weights(labels, 0.5).tolist() == [1, 1, 1, 3]
    assert labelled_weights(labels, 0.2).tolist() == [1, 1, 1, 1]  # a quarter already
    assert labelled_weights(labels[:3], 0.5).tolist() == [1, 1, 1]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.floats(0, 0.9))
def test_labelled_words_make_up_their_share(classes: list[int], least: float) -> None:
    labels = torch.tensor(classes)
    weights, labelled = labelled_weights(labels, least), labels > 0
    assert bool((weights[~labelled] == 1).all())
    assert bool((weights[labelled] >= 1).all())
    if bool(labelled.any()):
        share = weights[labelled].sum() / weights.sum()
        assert share >= least - 1e-5
        assert share <= max(least, labelled.double().mean().item()) + 1e-5


@given(SEEDS, st.integers(1, 6))
def test_a_weight_is_as_many_words(seed: int, times: int) -> None:
    similarity = words(3, 4, seed)
    weights = torch.tensor([1.0, times, 1.0], dtype=torch.float64)
    repeated = torch.tensor([0, *[1] * times, 2])
    for loss in (
        lambda s, t, w: class_cross_entropy(s, CLASS_OF[t], CLASS_OF, 0.1, w),
        lambda s, t, w: prototype_cross_entropy(s, t, 0.1, w),
        compactness,
    ):
        torch.testing.assert_close(
            loss(similarity, TARGET, weights), loss(similarity[repeated], TARGET[repeated], None)
        )


def test_without_words_a_weighted_loss_is_nothing() -> None:
    nothing = torch.zeros(0, 4, requires_grad=True)
    loss = class_cross_entropy(nothing, torch.zeros(0, dtype=torch.long), CLASS_OF, 0.1, torch.zeros(0))
    loss.backward()
    assert loss.item() == 0
