"""Targets of self-training: computed by hand, and their properties."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.models.baselines.soft_labels import soft_cross_entropy, soft_targets


def test_by_hand() -> None:
    """Σp = 1.5 and 0.5. First row: 0.81/1.5 = 0.54 and 0.01/0.5 = 0.02; second: 0.36/1.5 = 0.24 and 0.16/0.5 = 0.32."""
    found = soft_targets(torch.tensor([[0.9, 0.1], [0.6, 0.4]]))
    assert found.tolist() == [pytest.approx([0.54 / 0.56, 0.02 / 0.56]), pytest.approx([0.24 / 0.56, 0.32 / 0.56])]


@given(st.integers(1, 20), st.integers(2, 5), st.integers(0, 10**6))
def test_rows_are_distributions_and_sure_rows_become_surer(rows: int, classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    given = (torch.randn(rows, classes, generator=generator) * 4).softmax(-1)
    found = soft_targets(given)
    torch.testing.assert_close(found.sum(-1), torch.ones(rows))
    one = soft_targets(given[:1].expand(3, -1))  # alike rows: Σp is p, and the targets are p
    torch.testing.assert_close(one, given[:1].expand(3, -1))
    even = soft_targets(torch.cat([given, given.roll(1, -1)]), lambda _: torch.ones(classes))  # classes of one size
    assert (even.amax(-1) >= torch.cat([given, given]).amax(-1) - 1e-6).all()


def test_cross_entropy_by_hand_and_with_certainty() -> None:
    answers = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    targets = torch.tensor([[0.5, 0.5], [0.0, 1.0]])
    expected = torch.log(torch.tensor(2.0)) - torch.log(torch.tensor(0.75))
    assert soft_cross_entropy(answers, targets).item() == pytest.approx(expected.item())
    certain = torch.tensor([[0.0, -torch.inf]], requires_grad=True)
    loss = soft_cross_entropy(certain, torch.tensor([[1.0, 0.0]]))
    loss.backward()
    assert loss.item() == 0
    assert soft_cross_entropy(answers[:0], targets[:0]).item() == 0
