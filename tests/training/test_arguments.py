"""The keyword arguments of `train`, its result, and its progress bar."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from encoders import write_roberta
from mproto import Progress, Recognizer, TrainingResult, demo, train
from mproto.config import Config
from mproto.errors import InputError
from mproto.training.progress_bar import training_progress
from runs import all_steps, judge_steps, labelled, small_config


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_roberta(tmp_path_factory.mktemp("encoder"), positions=200)


def test_arguments_override_the_config(encoder: Path) -> None:
    config = small_config("training.min_steps=2", "training.seed=7")
    result = train(
        labelled(8),
        config=config,
        method="tagger",
        encoder=encoder,
        epochs=1,
        batch_size=4,
        learning_rate=1e-3,
        device="cpu",
        precision="float32",
    )
    expected = replace(config, method="tagger", encoder=str(encoder)).with_values(
        {"training": {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3, "device": "cpu", "precision": "float32"}}
    )
    assert result.recognizer.config == expected
    assert result.recognizer.config.training.seed == 7  # what is not passed stays as it is
    assert train(labelled(8), config=config, encoder=encoder, seed=0).recognizer.config.training.seed == 0
    assert result.steps == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "training.batch_size is 0, and must be at least 1"),
        ({"epochs": "two"}, "training.epochs is 'two', and must be a number"),
        ({"seed": 0.5}, "training.seed is 0.5, and must be a whole number"),
        ({"precision": "float16"}, "training.precision is 'float16', and must be one of auto"),
        ({"method": "mprotos"}, "no method 'mprotos'"),
        ({"device": "gpu"}, "no device 'gpu'"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(labelled(8), **arguments)  # type: ignore[arg-type]


def test_the_result_of_a_run(encoder: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    config = small_config("training.min_steps=6", "training.evaluate_every=1")
    result = train(
        labelled(705),  # enough labels for an estimate
        dev=demo.documents("dev")[:8],
        config=config,
        encoder=encoder,
        output=tmp_path / "run",
        on_step=seen.append,
    )
    assert list(result.history) == seen
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert result.history == tuple(Progress(**json.loads(line)) for line in lines)
    best = max(seen[judge_steps(6) :], key=lambda progress: progress.score or 0)
    assert (result.steps, result.best_step, result.dev_f1) == (all_steps(6), best.step, best.score)
    assert result.unlabelled_share is not None
    assert 0 <= result.unlabelled_share <= 1
    assert result.kept_share == seen[-1].logs["kept"]  # a tenth of so few steps is the last one


def test_figures_come_from_the_history() -> None:
    def step(number: int, *, score: float | None = None, best: bool = False, **logs: float) -> Progress:
        return Progress(number, 30, 1.0, 0.5, 1e-3, 100, 0.1, 0, logs, score, best)

    recognizer = Recognizer(None, Config())  # type: ignore[arg-type]
    history = [step(n, kept=n / 100, score=0.1 if n == 10 else None, best=n == 10) for n in range(1, 29)]
    last = [step(29, kept=0.5, score=0.4, best=True, unlabelled=0.2), step(30, kept=0.6, score=0.3, unlabelled=0.9)]
    result = TrainingResult(recognizer, (*history, *last))
    assert (result.steps, result.best_step, result.dev_f1) == (30, 29, 0.4)
    assert result.unlabelled_share == 0.2  # the first estimate
    assert result.kept_share == pytest.approx((0.28 + 0.5 + 0.6) / 3)
    plain = TrainingResult(recognizer, (step(1, best=True), step(2, best=True)))
    assert (plain.best_step, plain.dev_f1) == (2, None)
    assert (plain.unlabelled_share, plain.kept_share) == (None, None)


@pytest.mark.parametrize(
    ("terminal", "wanted", "rank"), [(True, True, 0), (True, False, 0), (False, True, 0), (True, True, 1)]
)
def test_a_bar_on_a_terminal(
    terminal: bool, wanted: bool, rank: int, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several processes, the first one shows it."""
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("TERM", "xterm")
    result = train(labelled(8), config=small_config("training.min_steps=2"), encoder=encoder, progress=wanted)
    assert (f"{result.steps}/{result.steps}" in stream.getvalue()) == (terminal and wanted and rank == 0)


def test_a_line_for_each_evaluation_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with training_progress(lines=True) as show:
        show(Progress(1, 2, 0.5, 0.25, 1e-3, 100, 0.1))
        show(Progress(2, 2, 1.0, 0.25, 1e-3, 100, 0.1, 5, {"kept": 0.9}, 0.5, True))
    assert (
        stream.getvalue()
        == "step 2 of 2  loss 0.2500  score 50.00 (best)  O words used 90.0 %  words/s 1,000  memory 5 MB\n"
    )
