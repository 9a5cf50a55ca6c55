from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.denoising import neighbours as kin
from mproto.denoising.neighbours import COUNT, OTHER_CASE, TEMPERATURE, Kin, explained, find_kin, labelled_kin


@given(st.integers(2, 40), st.integers(0, 99))
def test_kin_are_the_nearest_others_as_a_loop_finds_them(count: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    meanings = torch.randn(count, 6, generator=generator, dtype=torch.float64)
    small = torch.rand(count, generator=generator) < 0.5
    found = find_kin(meanings, small)
    assert found is not None
    for word in range(count):
        near = {
            other: torch.cosine_similarity(meanings[word], meanings[other], 0).item()
            - (OTHER_CASE if small[word] != small[other] else 0)
            for other in range(count)
            if other != word
        }
        expected = sorted(near, key=lambda other: -near[other])[:COUNT]
        assert found.words[word].tolist() == expected
        total = sum(math.exp(near[other] / TEMPERATURE) for other in expected)
        for weight, other in zip(found.weights[word].tolist(), expected, strict=True):
            assert math.isclose(weight, math.exp(near[other] / TEMPERATURE) / total, rel_tol=1e-9)


def test_kin_do_not_depend_on_how_many_words_are_looked_at_together(monkeypatch) -> None:
    meanings, small = torch.randn(50, 8, generator=torch.Generator().manual_seed(1)), torch.arange(50) % 3 == 0
    whole = find_kin(meanings, small)
    monkeypatch.setattr(kin, "_ROWS", 7)
    parts = find_kin(meanings, small)
    assert whole is not None
    assert parts is not None
    assert torch.equal(whole.words, parts.words)
    torch.testing.assert_close(whole.weights, parts.weights)


def test_a_single_word_has_no_kin() -> None:
    assert find_kin(torch.ones(1, 3), torch.tensor([True])) is None
    assert find_kin(torch.ones(0, 3), torch.zeros(0, dtype=torch.bool)) is None


def test_kin_explain_labels_as_far_as_those_of_kin_are_alike() -> None:
    """Against numpy's correlation; all where kin are labelled alike, nothing where it is the other way round."""
    generator = torch.Generator().manual_seed(3)
    words = torch.randint(30, (30, 4), generator=generator)
    some = Kin(words, torch.rand(30, 4, generator=generator).softmax(-1))
    labelled = torch.rand(30, generator=generator)
    guess = [sum(w * labelled[k] for w, k in zip(*row, strict=True)) for row in zip(some.weights, words, strict=True)]
    found = labelled_kin(some, labelled)
    torch.testing.assert_close(found, torch.stack(guess))
    expected = max(np.corrcoef(labelled.numpy(), found.numpy())[0, 1], 0) ** 2
    assert math.isclose(explained(found, labelled), expected, rel_tol=1e-4)
    pairs = Kin(torch.tensor([[1], [0], [3], [2]]), torch.ones(4, 1))
    for shares, share in (([1.0, 1.0, 0.0, 0.0], 1.0), ([1.0, 0.0, 1.0, 0.0], 0.0), ([0.0] * 4, 0.0)):
        assert math.isclose(explained(labelled_kin(pairs, torch.tensor(shares)), torch.tensor(shares)), share)
