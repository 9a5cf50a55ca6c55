"""Stages of a run and their learning rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.models.base import Stage
from mproto.training.schedule import Schedule, rate_at, steps_within


def test_two_stages() -> None:
    schedule = Schedule([Stage(0.3, counts=False), Stage(0.7)], 20, 0.1)
    assert schedule.steps == 20
    assert [schedule.stage_of(step) for step in range(20)] == [0] * 6 + [1] * 14
    assert [step for step in range(20) if schedule.begins(step)] == [6]
    assert [schedule.counts(done) for done in (6, 7, 20)] == [False, True, True]
    assert [schedule.counting(done) for done in (6, 7, 20)] == [(0, 14), (1, 14), (14, 14)]
    rates = [schedule.rate(step) for step in range(20)]
    expected = [rate_at(step, 0.6, 6) for step in range(6)] + [rate_at(step, 1.4, 14) for step in range(14)]
    assert rates == pytest.approx(expected)


def test_a_short_one() -> None:
    schedule = Schedule([Stage(0.25)], 20, 2)
    assert schedule.steps == 5
    assert schedule.rate(4) == pytest.approx(1 / 3)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=4), st.integers(1, 50))
def test_every_stage_has_a_step_and_every_step_a_stage(shares: list[float], steps: int) -> None:
    stages = [Stage(share / sum(shares)) for share in shares]
    schedule = Schedule(stages, steps, 0.1)
    found = [schedule.stage_of(step) for step in range(schedule.steps)]
    assert found == sorted(found)
    assert set(found) == set(range(len(stages)))
    assert steps <= schedule.steps < steps + len(stages)


def test_steps_within_a_share() -> None:
    assert [steps_within(share, 10) for share in (0.0, 0.05, 0.1, 0.31, 1.0)] == [0, 1, 1, 4, 10]
