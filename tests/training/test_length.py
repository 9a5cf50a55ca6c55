"""The number of training steps: by the size of the data, by settings, and within a time limit. The clock is simulated."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders import write_roberta
from mproto.config import load_config
from mproto.config.settings import Training
from mproto.models.base import Model
from mproto.models.encoder import Encoder
from mproto.models.process_group import ProcessGroup
from mproto.models.registry import get_method
from mproto.training import loop as loop_module
from mproto.training.cross_fitting import find_cross_fitting
from mproto.training.data import Data
from mproto.training.hold_out import HoldOut
from mproto.training.length import PREDICTION, STEPS, TIMED, planned_steps
from mproto.training.loop import Loop, State
from mproto.training.selection import Average
from runs import all_steps, labelled, small_config

BATCHES = st.integers(1, 10**5)
LAST_TIMED = TIMED[-1]


def settings(*given: str) -> Training:
    return load_config(settings=given).training


@given(BATCHES, st.integers(1, 10))
def test_the_number_of_steps_grows_with_the_square_root_of_the_data(per_epoch: int, factor: int) -> None:
    assert planned_steps(settings(), 1) == STEPS
    one, other = (planned_steps(settings(), batches) for batches in (per_epoch, factor**2 * per_epoch))
    assert one <= planned_steps(settings(), per_epoch + 1)
    assert factor * (one - 1) < other <= factor * one


@given(BATCHES, st.integers(0, 10**4), st.sampled_from(["auto", "0.01", "0"]))
def test_the_minimum_number_of_steps(per_epoch: int, least: int, epochs: str) -> None:
    plain = planned_steps(settings(f"training.epochs={epochs}"), per_epoch)
    found = planned_steps(settings(f"training.epochs={epochs}", f"training.min_steps={least}"), per_epoch)
    assert found == max(plain, least) >= 1


@given(BATCHES, st.integers(0, 20))
def test_epochs_are_passes_over_the_data(per_epoch: int, epochs: int) -> None:
    assert planned_steps(settings(f"training.epochs={epochs}"), per_epoch) == max(epochs * per_epoch, 1)
    half = planned_steps(settings(f"training.epochs={epochs + 0.5}"), per_epoch)
    assert half == epochs * per_epoch + (per_epoch + 1) // 2


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200))


class Run(NamedTuple):
    """A finished run.

    Attributes:
        loop: the loop.
        stages: the stage of each step.
        states: the states after the steps.
        total: the total number of steps that each step reports.
    """

    loop: Loop
    stages: list[int]
    states: list[State]
    total: list[int]

    @property
    def steps(self) -> int:
        return len(self.stages)


def new_loop(tiny: str, method: str, *given: str) -> Loop:
    config = small_config("training.batch_size=4", *given, method=method, encoder=tiny)
    torch.manual_seed(0)
    model = get_method(method).build(Encoder.load(config.encoder), ("Chemical", "Disease"), config)
    data = Data.of(labelled(20), model)
    hold_out = HoldOut(data, model, config.training) if getattr(model, "hold_out_share", 0) else None
    return Loop(model, data, config.training, Average(0.2), hold_out, find_cross_fitting(data, model, config))


def finish(loop: Loop) -> Run:
    run = Run(loop, [], [], [])
    for progress in loop.run():
        run.stages.append(loop.model.stage)
        tensors, values = loop.state()
        run.states.append(State({name: value.clone() for name, value in tensors.items()}, values))
        run.total.append(progress.steps)
    assert loop.step == run.total[-1]
    return run


def train(tiny: str, method: str, *given: str) -> Run:
    loop = new_loop(tiny, method, *given)
    loop.start()
    return finish(loop)


def simulate(monkeypatch: pytest.MonkeyPatch, durations: Iterable[float]) -> None:
    """Let each step take so many seconds."""

    def times() -> Iterable[float]:
        now = 0.0
        for duration in durations:
            yield now
            now += duration
            yield now

    clock = SimpleNamespace(perf_counter=iter(times()).__next__)
    monkeypatch.setattr(loop_module, "time", clock)


@pytest.mark.parametrize("first", [1.0, 100.0])
def test_a_run_is_shortened_to_its_minutes(first: float, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first steps are slower, and do not count."""
    simulate(monkeypatch, chain(repeat(first, TIMED[0] - 1), repeat(1.0)))
    run = train(tiny, "tagger", "training.min_steps=300", "training.minutes=0.5")
    assert run.steps == 30
    assert run.total == [300] * (LAST_TIMED - 1) + [30] * (31 - LAST_TIMED)


class FirstOf(ProcessGroup):
    """The first of several processes, which all do the same."""

    def __init__(self, size: int) -> None:
        self.size = size

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        return values * self.size

    def broadcast(self, values: torch.Tensor) -> torch.Tensor:
        return values


@pytest.mark.parametrize("processes", [1, 2])
def test_steps_and_predictions_fit_into_the_minutes(processes: int, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes share the batches of a step, but each predicts all of the data, after each of eight models."""
    simulate(monkeypatch, repeat(1.0))
    monkeypatch.setattr(Model, "group", FirstOf(processes))
    run = train(tiny, "mproto", "training.min_steps=300", "training.minutes=4")
    predicted = 8 * 5
    seconds = run.steps + PREDICTION * predicted
    assert 230 < seconds <= 240
    assert set(run.stages) == set(range(-8, 1))


@pytest.mark.parametrize(("method", "length"), [("tagger", 20), ("mproto", all_steps(20, documents=20))])
@pytest.mark.parametrize("minutes", [0, 3])
def test_a_run_is_never_lengthened(
    method: str, length: int, minutes: int, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(monkeypatch, repeat(1.0))
    assert train(tiny, method, "training.min_steps=20", f"training.minutes={minutes}").steps == length


def test_a_run_that_is_too_short_to_measure_is_not_changed(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first stage is over before the last step that would be measured."""
    simulate(monkeypatch, repeat(1.0))
    run = train(tiny, "mproto", f"training.min_steps={2 * LAST_TIMED}", "training.minutes=0.001")
    assert run.steps == all_steps(2 * LAST_TIMED, documents=20)


@pytest.mark.parametrize(
    ("method", "setting", "stages"),
    [
        ("mproto", "training.cross_fitting=2", range(-8, 1)),
        ("mproto", "mproto.denoising=threshold", range(1)),
        ("tagger", "training.cross_fitting=1", range(-4, 1)),
        ("early-stopping", "early_stopping.share=0.3", range(1)),
        ("mpu", "dropout=0", range(2)),
    ],
)
def test_steps_are_measured_within_the_first_stage(
    method: str, setting: str, stages: range, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few the minutes are, every stage is trained, and a hold-out phase ends with its estimate."""
    learnt: list[int] = []
    original = HoldOut.finish

    def count(self: HoldOut, *arguments: object) -> dict[str, float]:
        learnt.append(len(stages))
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(HoldOut, "finish", count)
    simulate(monkeypatch, repeat(1.0))
    run = train(tiny, method, "training.min_steps=300", "training.minutes=0.001", setting)
    assert run.steps < 300
    assert set(run.stages) == set(stages)
    assert set(run.stages[: LAST_TIMED + 1]) == {stages[0]}
    assert len(learnt) == (method == "mpu" or "threshold" in setting)


@pytest.mark.parametrize(("method", "rounds"), [("mproto", 1), ("tagger", 0)])
def test_a_shortened_run_is_resumed_to_the_same_weights(
    method: str, rounds: int, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The measured steps count, whether they were taken before or after the interruption; later ones do not."""
    given = ("training.min_steps=300", "training.minutes=0.5", f"training.cross_fitting={rounds}")
    interrupted = TIMED[0] + 2
    simulate(monkeypatch, chain(repeat(2.0, interrupted), repeat(0.5)))
    whole = train(tiny, method, *given)
    assert whole.steps < 300
    expected = whole.loop.model.state_dict()
    for step in (interrupted, LAST_TIMED, LAST_TIMED + 1, whole.steps - 1):
        simulate(monkeypatch, repeat(0.5 if step == interrupted else 0.001))
        other = new_loop(tiny, method, *given)
        torch.manual_seed(99)
        other.restore(whole.states[step - 1])
        assert finish(other).steps == whole.steps - step
        for name, value in other.model.state_dict().items():
            assert torch.equal(value, expected[name]), (step, name)
