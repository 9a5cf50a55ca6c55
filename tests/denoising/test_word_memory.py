from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.denoising.word_memory import DECAY, WordMemory

BATCHES = st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=6)


def similarities(words: list[int], seed: int) -> torch.Tensor:
    return torch.rand(len(words), 3, generator=torch.Generator().manual_seed(seed)) * 2 - 1


@given(BATCHES)
def test_means_against_a_loop(batches: list[list[int]]) -> None:
    """Each mention decays all earlier ones; those of one batch count equally."""
    memory = WordMemory()
    seen: dict[int, list[tuple[torch.Tensor, int]]] = {}
    for seed, words in enumerate(batches):
        similarity = similarities(words, seed)
        memory.add(torch.tensor(words, dtype=torch.long), similarity)
        for word in set(words):
            rows = similarity[[place for place, other in enumerate(words) if other == word]]
            seen.setdefault(word, []).append((rows.mean(0), len(rows)))
    asked = list(range(8))
    own = similarities(asked, 99)
    recalled = memory.mean(torch.tensor(asked), own)
    for word in asked:
        weight, total, mean = 1.0, 0.0, torch.zeros(3)
        for value, count in reversed(seen.get(word, [])):
            share = weight * (1 - DECAY**count)
            weight *= DECAY**count
            total, mean = total + share, mean + share * value
        expected = mean / total if total else own[word]
        torch.testing.assert_close(recalled[word], expected)


def test_a_single_mention_changes_no_other_word() -> None:
    memory = WordMemory()
    memory.add(torch.tensor([4]), torch.tensor([[0.5, -0.25]]))
    own = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
    torch.testing.assert_close(memory.mean(torch.tensor([4, 3]), own), torch.tensor([[0.5, -0.25], [0.3, 0.4]]))


@given(BATCHES)
def test_a_restored_memory_is_the_same(batches: list[list[int]]) -> None:
    memory, other = WordMemory(), WordMemory()
    for seed, words in enumerate(batches):
        memory.add(torch.tensor(words, dtype=torch.long), similarities(words, seed))
    other.restore(memory.state())
    asked, own = torch.arange(20), similarities(list(range(20)), 5)
    assert torch.equal(memory.mean(asked, own), other.mean(asked, own))
