from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.denoising import neighbours as neighbours_module
from mproto.denoising.neighbours import (
    CASE_PENALTY,
    COUNT,
    TEMPERATURE,
    NeighbourPrior,
    Neighbours,
    explained_variance,
    labelled_share,
    nearest_neighbours,
)


@given(st.integers(2, 40), st.integers(0, 99))
def test_nearest_neighbours_against_a_loop(count: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(count, 6, generator=generator, dtype=torch.float64)
    lowercase = torch.rand(count, generator=generator) < 0.5
    found = nearest_neighbours(embeddings, lowercase)
    assert found is not None
    for word in range(count):
        near = {
            other: torch.cosine_similarity(embeddings[word], embeddings[other], 0).item()
            - (CASE_PENALTY if lowercase[word] != lowercase[other] else 0)
            for other in range(count)
            if other != word
        }
        expected = sorted(near, key=lambda other: -near[other])[:COUNT]
        assert found.words[word].tolist() == expected
        total = sum(math.exp(near[other] / TEMPERATURE) for other in expected)
        for weight, other in zip(found.weights[word].tolist(), expected, strict=True):
            assert math.isclose(weight, math.exp(near[other] / TEMPERATURE) / total, rel_tol=1e-9)


def test_neighbours_do_not_depend_on_the_block_size(monkeypatch) -> None:
    embeddings, lowercase = torch.randn(50, 8, generator=torch.Generator().manual_seed(1)), torch.arange(50) % 3 == 0
    whole = nearest_neighbours(embeddings, lowercase)
    monkeypatch.setattr(neighbours_module, "_ROWS", 7)
    parts = nearest_neighbours(embeddings, lowercase)
    assert whole is not None
    assert parts is not None
    assert torch.equal(whole.words, parts.words)
    torch.testing.assert_close(whole.weights, parts.weights)


def test_a_single_word_has_no_neighbours() -> None:
    assert nearest_neighbours(torch.ones(1, 3), torch.tensor([True])) is None
    assert nearest_neighbours(torch.ones(0, 3), torch.zeros(0, dtype=torch.bool)) is None


def test_explained_variance_against_numpy() -> None:
    """1 if neighbours have equal labels, 0 if they have opposite ones."""
    generator = torch.Generator().manual_seed(3)
    words = torch.randint(30, (30, 4), generator=generator)
    some = Neighbours(words, torch.rand(30, 4, generator=generator).softmax(-1))
    labelled = torch.rand(30, generator=generator)
    rows = zip(some.weights, words, strict=True)
    expected_share = [sum(w * labelled[k] for w, k in zip(*row, strict=True)) for row in rows]
    found = labelled_share(some, labelled)
    torch.testing.assert_close(found, torch.stack(expected_share))
    expected = max(np.corrcoef(labelled.numpy(), found.numpy())[0, 1], 0) ** 2
    assert math.isclose(explained_variance(found, labelled), expected, rel_tol=1e-4)
    pairs = Neighbours(torch.tensor([[1], [0], [3], [2]]), torch.ones(4, 1))
    for shares, share in (([1.0, 1.0, 0.0, 0.0], 1.0), ([1.0, 0.0, 1.0, 0.0], 0.0), ([0.0] * 4, 0.0)):
        assert math.isclose(
            explained_variance(labelled_share(pairs, torch.tensor(shares)), torch.tensor(shares)), share
        )


def test_the_prior_is_mixed_in_for_known_words() -> None:
    prior = NeighbourPrior()
    probability, ids = torch.tensor([0.2, 0.4, 0.9]), torch.tensor([1, 0, 5])
    assert torch.equal(prior.mix(probability, ids), probability)
    prior.learn(torch.tensor([1.0, 0.6]), 0.25)
    mixed = prior.mix(probability, ids)
    torch.testing.assert_close(mixed, torch.tensor([0.75 * 0.2 + 0.25 * 0.6, 0.75 * 0.4 + 0.25, 0.9]))
    torch.testing.assert_close(probability, torch.tensor([0.2, 0.4, 0.9]))
    torch.testing.assert_close(prior.probability(ids), torch.tensor([0.25 * 0.6, 0.25, 0.0]))
    other = NeighbourPrior()
    other.restore(prior.state())
    assert torch.equal(other.mix(probability, ids), mixed)
