"""Similarities against torch, updates against the formula in a loop, and nothing else changes a prototype."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

from mproto.extensions.kmeans import initialise_prototypes, spherical_k_means
from mproto.method.assignment import Assignment
from mproto.method.prototypes import PrototypeBank

SIZES = st.lists(st.integers(1, 4), min_size=2, max_size=4)
SEEDS = st.integers(0, 10**6)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def bank_of(sizes: list[int], dimension: int = 6, seed: int = 0, *, unit: bool = True) -> PrototypeBank:
    bank = PrototypeBank(sizes, dimension, unit=unit)
    bank.start_at_random(seeded(seed))
    return bank


@settings(max_examples=40)
@given(SIZES, st.integers(0, 12), SEEDS, st.booleans())
def test_similarity_is_the_cosine(sizes: list[int], words: int, seed: int, unit: bool) -> None:
    bank = bank_of(sizes, seed=seed, unit=unit)
    bank.vectors *= 1.0 if unit else 7.0
    features = 10 * torch.randn(words, 6, generator=seeded(seed + 1))
    expected = cosine_similarity(features.unsqueeze(1), bank.vectors.unsqueeze(0), dim=-1)
    torch.testing.assert_close(bank.similarity(features), expected)


@settings(max_examples=40)
@given(SIZES, st.integers(0, 12), SEEDS)
def test_class_similarity_is_that_of_the_nearest_prototype(sizes: list[int], words: int, seed: int) -> None:
    similarity = 2 * torch.rand(words, sum(sizes), generator=seeded(seed)) - 1
    found = bank_of(sizes).class_similarity(similarity)
    expected = [[float(part.max()) for part in row.split(sizes)] for row in similarity]
    assert found.shape == (words, len(sizes))
    assert found.tolist() == expected


def test_prototypes_are_grouped_by_class() -> None:
    assert PrototypeBank([2, 1, 3], 4).class_of.tolist() == [0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize("sizes", [[], [3], [3, 0], [0, 3]])
def test_too_few_prototypes(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="at least two classes need at least one each"):
        PrototypeBank(sizes, 4)


# How training moves them


def moved_by_a_loop(
    old: Tensor, features: Tensor, target: list[int], used: list[bool], alpha: float, unit: bool
) -> Tensor:
    new = old.clone()
    for number in range(len(old)):
        own = [features[i] for i in range(len(target)) if used[i] and target[i] == number]
        if own:
            mean = [sum(float(h[j]) for h in own) / len(own) for j in range(old.shape[1])]
            length = math.hypot(*mean) if unit else 1.0
            mixed = [alpha * float(p) + (1 - alpha) * m / length for p, m in zip(old[number], mean, strict=True)]
            size = math.hypot(*mixed) if unit else 1.0
            new[number] = torch.tensor([x / size for x in mixed])
    return new


@settings(max_examples=40)
@given(
    SIZES,
    st.integers(0, 20),
    SEEDS,
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_update_is_the_formula(
    sizes: list[int], words: int, seed: int, alpha: float, unit: bool, some: bool, share: float
) -> None:
    bank, generator = bank_of(sizes, seed=seed, unit=unit), seeded(seed + 1)
    features = 5 * torch.randn(words, 6, generator=generator)
    target = torch.randint(sum(sizes), (words,), generator=generator)
    keep = torch.rand(words, generator=generator) < share
    only = torch.rand(words, generator=generator) < 0.5 if some else None
    used = keep if only is None else keep & only
    old = bank.vectors.clone()
    bank.update(features, Assignment(target, keep), alpha=alpha, only=only)
    expected = moved_by_a_loop(old, features, target.tolist(), used.tolist(), alpha, unit)
    torch.testing.assert_close(bank.vectors, expected, atol=1e-5, rtol=0)
    if unit:
        torch.testing.assert_close(bank.vectors.norm(dim=-1), torch.ones(sum(sizes)))
    without = [number not in target[used] for number in range(sum(sizes))]
    assert torch.equal(bank.vectors[without], old[without])  # to the last bit


def test_a_prototype_without_words_keeps_its_bits_even_if_its_length_is_not_quite_one() -> None:
    bank = PrototypeBank([1, 1], 3)
    bank.vectors.copy_(torch.tensor([[0.1, 0.2, 0.3], [1.0, 0.0, 0.0]]))
    old = bank.vectors.clone()
    everything_to_the_second = Assignment(torch.ones(4).long(), torch.ones(4).bool())
    bank.update(torch.randn(4, 3, generator=seeded(0)), everything_to_the_second, alpha=0.5)
    assert torch.equal(bank.vectors[0], old[0])
    assert not torch.equal(bank.vectors[1], old[1])


def test_the_update_of_the_paper_and_of_the_published_code_by_hand() -> None:
    """α = 0.5, a prototype (1, 0), one word (0, 3)."""
    for unit, expected in ((False, [0.5, 1.5]), (True, [0.5**0.5] * 2)):
        bank = PrototypeBank([1, 1], 2, unit=unit)
        bank.vectors[0, 0] = bank.vectors[1, 1] = 1.0
        word = Assignment(torch.tensor([0]), torch.tensor([True]))
        bank.update(torch.tensor([[0.0, 3.0]]), word, alpha=0.5)
        assert bank.vectors.tolist() == [pytest.approx(expected), [0.0, 1.0]]


def test_half_precision_features() -> None:
    bank, generator = bank_of([2, 2]), seeded(0)
    features = torch.randn(20, 6, generator=generator).bfloat16()
    bank.update(features, Assignment(torch.arange(20) % 4, torch.ones(20).bool()), alpha=0.5)
    initialise_prototypes(bank, features, torch.arange(20) % 2, generator)
    assert bank.vectors.dtype == torch.float32
    torch.testing.assert_close(bank.vectors.norm(dim=-1), torch.ones(4))


def test_nothing_but_updates_and_starts_changes_them() -> None:
    bank = bank_of([2, 3])
    before = bank.vectors.clone()
    features = torch.randn(7, 6, requires_grad=True, generator=seeded(1))
    similarity = bank.train().similarity(features)
    (similarity.sum() + bank.class_similarity(similarity).sum()).backward()
    assert features.grad is not None
    assert not list(bank.parameters())
    assert not bank.vectors.requires_grad
    assert bank.vectors.grad is None
    assert torch.equal(bank.vectors, before)


@given(SIZES, SEEDS, st.floats(0.05, 5))
def test_the_mean_of_several_sets_is_brought_back_to_its_length(sizes: list[int], seed: int, scale: float) -> None:
    """The direction stays. Prototypes whose length is free are not changed."""
    for unit in (True, False):
        bank = bank_of(sizes, seed=seed, unit=unit)
        bank.vectors.copy_(scale * (bank.vectors + bank_of(sizes, seed=seed + 1).vectors) / 2)
        mean = bank.vectors.clone()
        bank.restore_length()
        if unit:
            torch.testing.assert_close(bank.vectors.norm(dim=-1), torch.ones(sum(sizes)))
            torch.testing.assert_close(bank.vectors * mean.norm(dim=-1, keepdim=True), mean)
        else:
            assert torch.equal(bank.vectors, mean)


def test_an_update_leaves_no_graph() -> None:
    bank = bank_of([1, 1])
    features = torch.randn(4, 6, requires_grad=True, generator=seeded(0))
    bank.update(features, Assignment(torch.arange(4) % 2, torch.ones(4).bool()), alpha=0.5)
    assert not bank.vectors.requires_grad


def test_saved_and_loaded() -> None:
    bank, other = bank_of([2, 3]), PrototypeBank([2, 3], 6)
    state = bank.state_dict()
    assert sorted(state) == ["class_of", "vectors"]
    other.load_state_dict(state)
    assert torch.equal(other.vectors, bank.vectors)
    assert torch.equal(other.class_of, bank.class_of)
    with pytest.raises(RuntimeError, match="size mismatch"):
        PrototypeBank([2, 2], 6).load_state_dict(state)


# How they start


def test_random_directions() -> None:
    bank, same, other = bank_of([50, 50], 16, 0), bank_of([50, 50], 16, 0), bank_of([50, 50], 16, 1)
    torch.testing.assert_close(bank.vectors.norm(dim=-1), torch.ones(100))
    assert torch.equal(bank.vectors, same.vectors)
    assert not torch.equal(bank.vectors, other.vectors)
    assert bank.vectors.mean(0).norm() < 0.3  # evenly: no direction is preferred


def clusters(centres: Tensor, each: int, spread: float, seed: int) -> Tensor:
    noise = torch.randn(len(centres) * each, centres.shape[1], generator=seeded(seed))
    return normalize(centres.repeat_interleave(each, 0) + spread * noise, dim=-1)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), SEEDS)
def test_clusters_that_are_far_apart_are_found(sizes: list[int], seed: int) -> None:
    axes = torch.eye(16)[: sum(sizes)]
    features = 7 * clusters(axes, each=12, spread=0.005, seed=seed)
    labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)).repeat_interleave(12)
    bank = PrototypeBank(sizes, 16)
    order = torch.randperm(len(labels), generator=seeded(seed))
    initialise_prototypes(bank, features[order], labels[order], seeded(seed))
    similarity = bank.vectors @ axes.T
    assert (similarity.amax(1) > 0.99).all()
    assert sorted(similarity.argmax(1).tolist()) == list(range(sum(sizes)))  # each once
    owner = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))[similarity.argmax(1)]
    assert torch.equal(owner, bank.class_of)


def test_a_class_without_words_starts_at_random() -> None:
    bank = PrototypeBank([1, 2], 8)
    initialise_prototypes(bank, torch.randn(5, 8, generator=seeded(0)), torch.zeros(5).long(), seeded(1))
    torch.testing.assert_close(bank.vectors.norm(dim=-1), torch.ones(3))


def inertia(points: Tensor, centres: Tensor) -> float:
    return float((1 - points @ centres.T).amin(-1).sum())


def test_clusters_are_about_as_tight_as_those_of_scikit_learn() -> None:
    """On average: with few points, one random start is sometimes a tenth better than another."""
    ratios = []
    for seed in range(36):
        count, n = 1 + seed % 6, 20 + 20 * (seed // 6)
        points = normalize(torch.randn(n, 5, generator=seeded(seed)), dim=-1)
        tries = [spherical_k_means(points, count, seeded(seed + i)) for i in range(5)]
        peer = KMeans(count, n_init=5, random_state=0).fit(points.numpy())
        theirs = inertia(points, normalize(torch.from_numpy(peer.cluster_centers_), dim=-1))
        ratios.append(min(inertia(points, centres) for centres in tries) / theirs)
    assert sum(ratios) / len(ratios) <= 1.01
    assert max(ratios) <= 1.2


def test_centres_are_where_their_points_are_when_nothing_moves_any_more() -> None:
    points = clusters(torch.eye(8)[:3], each=30, spread=0.1, seed=0)
    centres = spherical_k_means(points, 3, seeded(0))
    nearest = (points @ centres.T).argmax(-1)
    for number in range(3):
        expected = normalize(points[nearest == number].mean(0), dim=0)
        torch.testing.assert_close(centres[number], expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("different", "each"), [(1, 1), (1, 5000), (2, 1), (2, 1000), (3, 2)])
def test_fewer_different_points_than_centres(different: int, each: int) -> None:
    """All of unit length, no two the same: of two equal prototypes one would never get a word."""
    points = normalize(torch.randn(different, 384, generator=seeded(0)), dim=-1).repeat(each, 1)
    centres = spherical_k_means(points, 4, seeded(1))
    assert centres.shape == (4, 384)
    torch.testing.assert_close(centres.norm(dim=-1), torch.ones(4))
    similarity = centres @ centres.T - torch.eye(4)
    assert similarity.max() < 0.9999
    nearest = (points[:different] @ centres.T).amax(-1)
    torch.testing.assert_close(nearest, torch.ones(different))  # every point has its centre
    assert (centres @ points[:different].T).amax(-1).min() > 0.9  # and every centre is near a point
