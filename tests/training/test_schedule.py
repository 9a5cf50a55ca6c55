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


def test_counting_within_some_stages_by_hand() -> None:
    """Two stages that do not count, then twice the stages of a model whose first stage does not count."""
    own = [Stage(0.2, counts=False), Stage(0.4)]
    schedule = Schedule([Stage(0.1, counts=False)] * 2 + own * 2, 20, 0.1)
    assert [schedule.start_of(number) for number in range(7)] == [0, 2, 4, 8, 16, 20, 28]
    assert [schedule.counting(done, range(2, 4)) for done in (0, 8, 9, 16, 20, 28)] == [
        *[(0, 8), (0, 8), (1, 8)],
        *[(8, 8)] * 3,
    ]
    assert [schedule.counting(done, range(4, 6)) for done in (8, 16, 20, 21, 28)] == [(0, 8)] * 3 + [(1, 8), (8, 8)]
    assert schedule.counting(12, range(2)) == (0, 0)
    assert schedule.counting(22) == (10, 16)


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.booleans()), min_size=1, max_size=6),
    st.integers(1, 40),
    st.data(),
)
def test_counting_is_a_sum_over_steps(parts: list[tuple[float, bool]], length: int, data: st.DataObject) -> None:
    schedule = Schedule([Stage(share, counts=counts) for share, counts in parts], length, 0.1)
    first, last = sorted(data.draw(st.integers(0, len(parts))) for _ in range(2))
    steps = [
        step
        for step in range(schedule.steps)
        if first <= schedule.stage_of(step) < last and parts[schedule.stage_of(step)][1]
    ]
    for done in range(schedule.steps + 1):
        assert schedule.counting(done, range(first, last)) == (sum(step < done for step in steps), len(steps))
        assert done == 0 or schedule.counting(done) == schedule.counting(done, range(len(parts)))


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


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.none() | st.integers(1, 20)), min_size=1, max_size=5), st.integers(1, 100)
)
def test_a_stage_is_not_longer_than_its_maximum(parts: list[tuple[float, int | None]], steps: int) -> None:
    """Other stages keep their lengths, up to rounding."""
    free = Schedule([Stage(share) for share, _ in parts], steps, 0.1)
    limited = Schedule([Stage(share, most=most) for share, most in parts], steps, 0.1)
    for number, (_, most) in enumerate(parts):
        before, length = (
            one.start_of(number + 1) - one.start_of(number)  # the start of the stage after the last is the end
            for one in (free, limited)
        )
        assert length >= 1
        if most is not None:
            assert length <= most
        if most is None or before <= most:
            assert abs(length - before) <= len(parts)
    assert limited.steps == limited.start_of(len(parts)) <= free.steps


def test_two_limited_stages_by_hand() -> None:
    stages = [Stage(0.25, counts=False, most=100), Stage(0.25, counts=False, most=100), Stage(1.0)]
    assert [Schedule(stages, 400, 0.1).start_of(number) for number in range(4)] == [0, 100, 200, 600]
    assert [Schedule(stages, 800, 0.1).start_of(number) for number in range(4)] == [0, 100, 200, 1000]
    assert [Schedule(stages, 40, 0.1).start_of(number) for number in range(4)] == [0, 10, 20, 60]
