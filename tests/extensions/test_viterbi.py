from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.extensions.viterbi import most_likely, transitions


def test_transitions_by_hand() -> None:
    """Pairs: 0→0 once, 0→1 twice, 1→0 once. With one more of each: 2 and 3 after 0, 2 and 1 after 1."""
    found = transitions([[0, 0, 1], [0, 1, 0], [1], []], 2)
    at = torch.tensor([[2 / 5, 3 / 5], [2 / 3, 1 / 3]])
    anywhere = torch.tensor([4 / 8, 4 / 8])
    torch.testing.assert_close(found, (at / anywhere).log() / 2)


def test_missing_labels_hardly_change_transitions_to_entities() -> None:
    sentence = [0] * 8 + [1, 1]
    whole, half = transitions([sentence] * 4000, 2), transitions([sentence] * 2000 + [[0] * 10] * 2000, 2)
    assert half[0, 1].item() == pytest.approx(whole[0, 1].item(), abs=0.05)
    assert whole[0, 1] < 0 < whole[1, 1]


@given(st.lists(st.integers(0, 5), max_size=4), st.integers(2, 3), st.integers(0, 10**6))
def test_against_all_paths(lengths: list[int], classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    answers = torch.randn(sum(lengths), classes, generator=generator, dtype=torch.float64).log_softmax(-1)
    change = torch.randn(classes, classes, generator=generator, dtype=torch.float64)
    found = most_likely(answers, lengths, change).tolist()
    expected: list[int] = []
    for part in answers.split(lengths):
        paths = {
            path: sum(part[i, c].item() for i, c in enumerate(path))
            + sum(change[a, b].item() for a, b in pairwise(path))
            for path in product(range(classes), repeat=len(part))
        }
        expected += max(paths, key=lambda path: paths[path])
    assert found == expected


@given(st.lists(st.integers(0, 6), max_size=5), st.integers(0, 10**6))
def test_without_transitions_words_are_tagged_independently(lengths: list[int], seed: int) -> None:
    answers = torch.randn(sum(lengths), 4, generator=torch.Generator().manual_seed(seed))
    assert most_likely(answers, lengths, torch.zeros(4, 4)).tolist() == answers.argmax(-1).tolist()
