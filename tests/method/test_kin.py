from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.method import kin
from mproto.method.kin import COUNT, OTHER_CASE, TEMPERATURE, Kin, explained, find_kin
from mproto.method.memory import FEWEST_KIN, WordMemory


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


def memory_with_kin(share: float) -> WordMemory:
    """Words 0 and 1 have been seen; 2 and 3 have not. Of word 3 no kin are known."""
    memory = WordMemory(2)
    kin_of = Kin(torch.tensor([[1, 2], [0, 2], [0, 1]]), torch.tensor([[0.75, 0.25], [0.1, 0.9], [0.5, 0.5]]))
    memory.learn_kin(kin_of, share)
    memory.see(torch.tensor([0, 1]), torch.tensor([[0.2, 0.4], [0.8, -0.6]]))
    return memory


def test_a_word_is_recalled_with_those_kin_that_have_been_seen() -> None:
    own = torch.tensor([[9.0, 9.0]] * 4)
    recalled = memory_with_kin(0.5).recall(torch.tensor([0, 1, 2, 3]), own)
    torch.testing.assert_close(recalled[0], torch.tensor([(0.2 + 0.8) / 2, (0.4 - 0.6) / 2]))  # word 2 says nothing yet
    assert FEWEST_KIN > 0.1
    torch.testing.assert_close(recalled[1], torch.tensor([0.8, -0.6]))  # too little of its kin is known
    torch.testing.assert_close(recalled[2], torch.tensor([(9 + 0.5) / 2, (9 - 0.1) / 2]))
    torch.testing.assert_close(recalled[3], own[3])


def test_kin_without_a_share_say_nothing() -> None:
    words, own = torch.tensor([0, 1, 2, 3]), torch.rand(4, 2)
    with_kin, without = memory_with_kin(0.0), memory_with_kin(0.0)
    without.kin = None
    torch.testing.assert_close(with_kin.recall(words, own), without.recall(words, own))


def test_recalling_changes_neither_what_is_remembered_nor_what_was_asked() -> None:
    memory, own = memory_with_kin(0.5), torch.rand(4, 2)
    before = {name: value.clone() for name, value in memory.state().items()}
    asked = own.clone()
    first = memory.recall(torch.arange(4), own)
    assert torch.equal(first, memory.recall(torch.arange(4), own))
    assert torch.equal(own, asked)
    for name, value in before.items():
        after = memory.state()[name]
        assert torch.equal(value, after[: len(value)] if value.dim() else after)  # there may be more room


def test_kin_are_part_of_the_state() -> None:
    memory, other = memory_with_kin(0.5), WordMemory(2)
    other.restore(memory.state())
    own = torch.rand(4, 2)
    assert torch.equal(memory.recall(torch.arange(4), own), other.recall(torch.arange(4), own))


def test_kin_explain_labels_as_far_as_those_of_kin_are_alike() -> None:
    """Against numpy's correlation; all where kin are labelled alike, nothing where it is the other way round."""
    generator = torch.Generator().manual_seed(3)
    words = torch.randint(30, (30, 4), generator=generator)
    some = Kin(words, torch.rand(30, 4, generator=generator).softmax(-1))
    labelled = torch.rand(30, generator=generator)
    guess = [sum(w * labelled[k] for w, k in zip(*row, strict=True)) for row in zip(some.weights, words, strict=True)]
    expected = max(np.corrcoef(labelled.numpy(), np.array([float(value) for value in guess]))[0, 1], 0) ** 2
    assert math.isclose(explained(some, labelled), expected, rel_tol=1e-4)
    pairs = Kin(torch.tensor([[1], [0], [3], [2]]), torch.ones(4, 1))
    assert math.isclose(explained(pairs, torch.tensor([1.0, 1.0, 0.0, 0.0])), 1.0)
    assert explained(pairs, torch.tensor([1.0, 0.0, 1.0, 0.0])) == 0
    assert explained(pairs, torch.zeros(4)) == 0
