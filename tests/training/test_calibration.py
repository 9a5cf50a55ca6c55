"""Bias and temperature of scores: against another optimiser, and recovered from distributions that were shifted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax
from torch import Tensor

from mproto.models.base import shift_entities
from mproto.training.calibration import HIGHEST, LOWEST, MAX_BIAS, BiasAndTemperature, fit_bias_and_temperature

SEEDS = st.integers(0, 10**6)


def log_probabilities(count: int, classes: int, seed: int, spread: float = 2.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (spread * torch.randn(count, classes, generator=generator, dtype=torch.float64)).log_softmax(-1)


def corrected(answers: np.ndarray, bias: float, temperature: float) -> np.ndarray:
    """Return the log-probabilities (N, K) after a correction, in numpy."""
    logits = np.concatenate([answers[:, :1], answers[:, 1:] + bias], 1)
    return np.asarray(log_softmax(logits / temperature, axis=1))


@given(st.integers(1, 5), st.integers(2, 5), st.floats(-3, 3), SEEDS)
def test_a_bias_changes_the_odds_against_o_only(count: int, classes: int, bias: float, seed: int) -> None:
    answers = log_probabilities(count, classes, seed)
    found = shift_entities(answers, bias)
    assert torch.equal(found[:, 0], answers[:, 0])
    torch.testing.assert_close(found[:, 1:], answers[:, 1:] + bias)
    shifted = BiasAndTemperature(bias, 3.0).shift(answers)  # whatever the temperature
    np.testing.assert_allclose(shifted.numpy(), corrected(answers.numpy(), bias, 1.0), atol=1e-12)
    assert torch.equal(BiasAndTemperature().shift(answers).argmax(-1), answers.argmax(-1))


@settings(max_examples=30)
@given(st.integers(2, 5), st.floats(-2, 2), st.floats(0.5, 4), SEEDS)
def test_a_known_correction_is_recovered(classes: int, bias: float, temperature: float, seed: int) -> None:
    """The target is the distribution after the correction."""
    answers = log_probabilities(400, classes, seed)
    target = torch.from_numpy(np.exp(corrected(answers.numpy(), bias, temperature)))
    found = fit_bias_and_temperature(answers.float(), target)
    assert found == pytest.approx((bias, temperature), rel=1e-2, abs=1e-2)


@settings(max_examples=30)
@given(st.integers(2, 5), st.floats(0.3, 2), SEEDS)
def test_the_fit_is_that_of_another_optimiser(classes: int, noise: float, seed: int) -> None:
    """The target is noisy, so that no correction gives it."""
    answers = log_probabilities(200, classes, seed)
    target = (answers + noise * log_probabilities(200, classes, seed + 1)).softmax(-1)

    def loss(values: np.ndarray) -> float:
        bias, sharpness = values.tolist()
        return -float((target.numpy() * corrected(answers.numpy(), bias, 1 / sharpness)).sum(1).mean())

    bounds = [(-MAX_BIAS, MAX_BIAS), (1 / HIGHEST, 1 / LOWEST)]
    best = minimize(loss, [0.0, 1.0], method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    bias, temperature = fit_bias_and_temperature(answers, target)
    assert loss(np.array([bias, 1 / temperature])) == pytest.approx(best.fun, abs=1e-6)
    assert (bias, 1 / temperature) == pytest.approx(tuple(best.x), abs=1e-2)


@pytest.mark.parametrize(
    ("bias", "temperature", "expected"),
    [
        (7.0, 1.0, (MAX_BIAS, 1.0)),
        (-7.0, 1.0, (-MAX_BIAS, 1.0)),
        (0.0, 0.05, (0.0, LOWEST)),
        (0.0, 30.0, (0.0, HIGHEST)),
    ],
)
def test_corrections_are_limited(bias: float, temperature: float, expected: tuple[float, float]) -> None:
    answers = log_probabilities(500, 3, 0, spread=1.0)
    target = torch.from_numpy(np.exp(corrected(answers.numpy(), bias, temperature)))
    found = fit_bias_and_temperature(answers, target)
    assert found.bias == pytest.approx(expected[0], abs=0.3)
    assert abs(found.bias) <= MAX_BIAS
    assert found.temperature == pytest.approx(expected[1], rel=1e-2)


def test_the_expected_number_of_entities_is_that_of_the_target() -> None:
    """At the best bias, the sum of the entity probabilities is the same on both sides."""
    answers = log_probabilities(300, 4, 1)
    target = (answers / 2 + log_probabilities(300, 4, 2)).softmax(-1)
    bias, temperature = fit_bias_and_temperature(answers, target)
    assert abs(bias) < MAX_BIAS
    assert LOWEST < temperature < HIGHEST
    found = np.exp(corrected(answers.numpy(), bias, temperature))
    assert found[:, 1:].sum() == pytest.approx(float(target[:, 1:].sum()), rel=1e-4)


def test_gradients_are_not_needed_around_the_fit() -> None:
    answers = log_probabilities(50, 3, 3)
    with torch.no_grad():
        assert fit_bias_and_temperature(answers, answers.exp()) == pytest.approx((0.0, 1.0), abs=1e-4)
