from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.denoising.word_memory import FADING, WordMemory

BATCHES = st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=6)


def similarities(words: list[int], seed: int) -> torch.Tensor:
    return torch.rand(len(words), 3, generator=torch.Generator().manual_seed(seed)) * 2 - 1


@given(BATCHES)
def test_recall_is_the_faded_mean_of_what_was_seen(batches: list[list[int]]) -> None:
    """Against a loop over mentions, each of which fades all before it; those of one batch count alike."""
    memory = WordMemory(3)
    seen: dict[int, list[tuple[torch.Tensor, int]]] = {}
    for seed, words in enumerate(batches):
        similarity = similarities(words, seed)
        memory.see(torch.tensor(words, dtype=torch.long), similarity)
        for word in set(words):
            rows = similarity[[place for place, other in enumerate(words) if other == word]]
            seen.setdefault(word, []).append((rows.mean(0), len(rows)))
    asked = list(range(8))
    own = similarities(asked, 99)
    recalled = memory.recall(torch.tensor(asked), own)
    for word in asked:
        weight, total, mean = 1.0, 0.0, torch.zeros(3)
        for value, count in reversed(seen.get(word, [])):
            share = weight * (1 - FADING**count)
            weight *= FADING**count
            total, mean = total + share, mean + share * value
        expected = mean / total if total else own[word]
        torch.testing.assert_close(recalled[word], expected)


def test_a_single_mention_is_recalled_as_it_was_and_changes_no_other_word() -> None:
    memory = WordMemory(2)
    memory.see(torch.tensor([4]), torch.tensor([[0.5, -0.25]]))
    own = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
    torch.testing.assert_close(memory.recall(torch.tensor([4, 3]), own), torch.tensor([[0.5, -0.25], [0.3, 0.4]]))


@given(BATCHES)
def test_a_restored_memory_recalls_the_same(batches: list[list[int]]) -> None:
    memory, other = WordMemory(3), WordMemory(3)
    for seed, words in enumerate(batches):
        memory.see(torch.tensor(words, dtype=torch.long), similarities(words, seed))
    other.restore(memory.state())
    asked, own = torch.arange(20), similarities(list(range(20)), 5)
    assert torch.equal(memory.recall(asked, own), other.recall(asked, own))
