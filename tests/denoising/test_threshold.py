"""The threshold and its denoiser, against linear programming and a loop."""

from __future__ import annotations

import math

import numpy as np
import ot
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.denoising.base import StepWords
from mproto.denoising.threshold import DECAY, PRIOR_THRESHOLD, Threshold, entity_probability, exceeds, next_threshold
from mproto.method.assignment import assign_within_class
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
    left_out = probability > next_threshold(probability, beta)
    assert left_out.tolist() == (plan[:, 1] > 0.5).tolist()


def test_probabilities_are_those_of_merged_classes() -> None:
    similarity = some_similarity(20, 1)
    found = entity_probability(similarity, CLASS_OF, 0.3)
    for row, value in zip(similarity.tolist(), found.tolist(), strict=True):
        weights = [math.exp(s / 0.3) for s in row]
        assert value == pytest.approx(1 - sum(weights[:2]) / sum(weights), abs=1e-5)


def test_the_threshold_follows_the_steps_slowly() -> None:
    low, high = torch.linspace(0, 0.2, 101), torch.linspace(0.5, 0.7, 101)
    first = next_threshold(low, 0.9)
    assert first.item() == pytest.approx(0.18)
    second = next_threshold(high, 0.9, first)
    assert second.item() == pytest.approx(DECAY * 0.18 + (1 - DECAY) * 0.68)
    assert (high > second).all()  # a step with high entity probabilities: all words are left out
    assert exceeds(torch.tensor([0.2, 0.21, 0.6]), second).tolist() == [False, True, True]
    assert exceeds(torch.tensor([0.4, 0.6]), torch.tensor(0.9)).tolist() == [False, True]  # more likely than not
    none = torch.zeros(0)
    assert next_threshold(none, 0.9, first) == first
    assert next_threshold(none, 0.9) is None  # the next step with words sets it anew
    assert not len(exceeds(none, None))


def step_words(words: int, seed: int) -> StepWords:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (words,), generator=generator)
    ids = torch.randint(12, (words,), generator=generator)
    return StepWords(some_similarity(words, seed), labels, ids, torch.rand(words, generator=generator) < 0.2)


def denoiser(beta: float = 0.7, start: float = 0.2) -> Threshold:
    """Return a denoiser with a prior for half of the words, and three steps in its memory."""
    found = Threshold(beta, start=start, temperature=0.5)
    found.prior.learn(torch.linspace(0, 1, 6), 0.4)
    for seed in range(3):
        found.assign(step_words(20, 100 + seed), CLASS_OF, 0.9).commit()
    return found


@given(st.integers(1, 30), st.integers(0, 99), st.sampled_from([0.0, 0.5]))
def test_words_that_are_left_out_do_not_influence_the_others(words: int, seed: int, progress: float) -> None:
    given = step_words(words, seed)
    found = denoiser().assign(given, CLASS_OF, progress).assignment
    left_out = ~found.keep
    assert not bool((left_out & ~given.uncertain).any())
    assert torch.equal(CLASS_OF[found.target[found.keep]], given.labels[found.keep])
    assert bool((CLASS_OF[found.target[left_out]] != OTHER).all())
    if progress == 0.0 and bool(found.keep.any()):  # before denoising starts, the similarities are the words' own
        kept = given.similarity[found.keep], given.labels[found.keep]
        assert torch.equal(found.target[found.keep], assign_within_class(*kept, CLASS_OF))


def test_the_first_phase_uses_the_neighbour_prior_alone() -> None:
    given, found = step_words(40, 5), denoiser()
    expected = given.uncertain & (found.prior.probability(given.ids) > PRIOR_THRESHOLD)
    assert bool(expected.any())
    assert torch.equal(~found.assign(given, CLASS_OF, 0.1).assignment.keep, expected)


def test_decisions_against_a_loop() -> None:
    """Own similarity, memory and prior are mixed word by word, then compared with the moving threshold."""
    given, found = step_words(40, 6), denoiser()
    expected = []
    means = found.memory.mean(given.ids, given.similarity)
    for i in range(40):
        mixed = 0.25 * given.similarity[i] + 0.75 * means[i]
        own = entity_probability(mixed.unsqueeze(0), CLASS_OF, 0.5).item()
        word = int(given.ids[i])
        expected.append(0.6 * own + 0.4 * word / 5 if word < 6 else own)
    uncertain = given.uncertain.tolist()
    quantile = np.quantile([p for p, asked in zip(expected, uncertain, strict=True) if asked], 0.7)
    assert found.threshold is not None
    threshold = min(0.95 * found.threshold.item() + 0.05 * quantile, 0.5)
    keep = [not (asked and p > threshold) for p, asked in zip(expected, uncertain, strict=True)]
    assert found.assign(given, CLASS_OF, 0.5).assignment.keep.tolist() == keep


def test_assigning_changes_nothing_until_it_is_committed() -> None:
    given, found = step_words(30, 7), denoiser()
    before = {name: value.clone() for name, value in found.state().items()}
    first = found.assign(given, CLASS_OF, 0.5)
    again = found.assign(given, CLASS_OF, 0.5)
    assert torch.equal(first.assignment.keep, again.assignment.keep)
    assert all(torch.equal(value, found.state()[name]) for name, value in before.items())
    first.commit()
    assert not all(torch.equal(value, found.state()[name]) for name, value in before.items())


def test_a_restored_denoiser_makes_the_same_decisions() -> None:
    one, other = denoiser(), Threshold(0.99, start=0.2, temperature=0.5)
    other.restore({name: value.clone() for name, value in one.state().items()})
    for seed in range(5):
        given = step_words(25, seed)
        ours, theirs = (each.assign(given, CLASS_OF, 0.5) for each in (one, other))
        assert torch.equal(ours.assignment.keep, theirs.assignment.keep)
        ours.commit()
        theirs.commit()
