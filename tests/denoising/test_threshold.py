"""The two-column plan: against linear programming, a loop, and what it must leave alone."""

from __future__ import annotations

import math

import numpy as np
import ot
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.denoising.threshold import FADING, LabelledKin, entity_probability, threshold, too_doubtful
from mproto.method.assignment import Transport, assign
from mproto.method.prototypes import OTHER

CLASS_OF = torch.tensor([0, 0, 1, 1, 2, 2])


def some_similarity(words: int, seed: int) -> torch.Tensor:
    return 2 * torch.rand(words, len(CLASS_OF), generator=torch.Generator().manual_seed(seed)) - 1


@given(st.integers(4, 40), st.integers(0, 99), st.integers(1, 9))
def test_the_plan_is_that_of_linear_programming(words: int, seed: int, tenths: int) -> None:
    """POT's exact solver, with the negative logarithms of both probabilities as costs."""
    probability = entity_probability(some_similarity(words, seed), CLASS_OF, 0.5).double()
    kept = min(max(round(words * tenths / 10), 1), words - 1)
    cost = torch.stack([-(1 - probability).log(), -probability.log()], 1).numpy()
    plan = ot.emd(np.ones(words), np.array([kept, words - kept], float), np.ascontiguousarray(cost))
    beta = (kept - 0.5) / (words - 1)  # a quantile between the last word that is kept and the first that is left out
    left_out = probability > threshold(probability, beta)
    assert left_out.tolist() == (plan[:, 1] > 0.5).tolist()


def test_probabilities_are_those_of_merged_classes() -> None:
    similarity = some_similarity(20, 1)
    found = entity_probability(similarity, CLASS_OF, 0.3)
    for row, value in zip(similarity.tolist(), found.tolist(), strict=True):
        weights = [math.exp(s / 0.3) for s in row]
        assert value == pytest.approx(1 - sum(weights[:2]) / sum(weights), abs=1e-5)


def test_the_threshold_follows_the_steps_slowly() -> None:
    low, high = torch.linspace(0, 0.2, 101), torch.linspace(0.5, 0.7, 101)
    first = threshold(low, 0.9)
    assert first.item() == pytest.approx(0.18)
    second = threshold(high, 0.9, first)
    assert second.item() == pytest.approx(FADING * 0.18 + (1 - FADING) * 0.68)
    assert (high > second).all()  # a step of doubtful words: all are left out
    assert too_doubtful(torch.tensor([0.2, 0.21, 0.6]), second).tolist() == [False, True, True]
    assert too_doubtful(torch.tensor([0.4, 0.6]), torch.tensor(0.9)).tolist() == [False, True]  # more likely than not
    none = torch.zeros(0)
    assert threshold(none, 0.9, first) == first
    assert threshold(none, 0.9) is None  # and the next step with words begins anew
    assert not len(too_doubtful(none, None))


@given(st.integers(1, 30), st.integers(0, 99))
def test_doubtful_words_are_left_out_and_others_stay_with_o(words: int, seed: int) -> None:
    similarity = some_similarity(words, seed)
    labels = torch.randint(3, (words,), generator=torch.Generator().manual_seed(seed))
    doubtful = (labels == OTHER) & (similarity[:, 0] < 0)
    found = assign(similarity, labels, CLASS_OF, Transport("threshold"), doubtful=doubtful)
    assert torch.equal(found.keep, ~doubtful)
    assert torch.equal(CLASS_OF[found.target[~doubtful]], labels[~doubtful])
    assert torch.equal(found.target[doubtful], 2 + similarity[doubtful][:, 2:].argmax(-1))
    torch.testing.assert_close(found.mass.sum(-1), torch.ones(words))
    rest = assign(similarity[~doubtful], labels[~doubtful], CLASS_OF, Transport("threshold"))
    assert torch.equal(found.target[~doubtful], rest.target)  # as if the others were not there


def test_kin_are_a_part_of_doubt_where_they_are_known() -> None:
    kin = LabelledKin()
    doubt, words = torch.tensor([0.2, 0.4, 0.9]), torch.tensor([1, 0, 5])
    assert torch.equal(kin.mixed_into(doubt, words), doubt)
    kin.learn(torch.tensor([1.0, 0.6]), 0.25)
    mixed = kin.mixed_into(doubt, words)
    torch.testing.assert_close(mixed, torch.tensor([0.75 * 0.2 + 0.25 * 0.6, 0.75 * 0.4 + 0.25, 0.9]))
    assert doubt.tolist() == pytest.approx([0.2, 0.4, 0.9])
    torch.testing.assert_close(kin.alone(words), torch.tensor([0.25 * 0.6, 0.25, 0.0]))
    other = LabelledKin()
    other.restore(kin.state())
    assert torch.equal(other.mixed_into(doubt, words), mixed)
