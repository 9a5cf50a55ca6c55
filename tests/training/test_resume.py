"""A run that was stopped, killed or damaged goes on to the model of one that never was, bit for bit."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from encoders import write_roberta
from mproto import Recognizer, demo, train, write_documents
from mproto.config import Config, load_config
from mproto.errors import InputError, Notes
from mproto.models.encoder import Encoder
from mproto.models.registry import get_method
from mproto.training import checkpoint
from mproto.training.data import Data
from mproto.training.folder import read_history
from mproto.training.interrupt import Interrupted
from mproto.training.loop import Loop, Progress, State
from mproto.training.selection import Average, Best, Selection
from runs import SMALL, labelled, small_config

STEPS = 60
Weights = dict[str, torch.Tensor]
SETTINGS = [*SMALL, f"training.min_steps={STEPS}", "training.batch_size=4", "training.evaluate_every=15"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An encoder whose checkpoints take no time."""
    return str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200))


def new_loop(method: str, selection: Selection, encoder: str) -> Loop:
    config = small_config("training.min_steps=7", "training.evaluate_every=2", method=method)
    model = get_method(method).build(Encoder.load(encoder), ("Chemical", "Disease"), config)
    return Loop(model, Data.of(labelled(), model), config.training, selection)


@pytest.mark.parametrize("method", ["mproto", "tagger"])
@pytest.mark.parametrize("selection", ["best", "average"])
def test_a_loop_goes_on_from_any_state(method: str, selection: str, tiny: str) -> None:
    """Across the edge of an epoch (six batches), before and after the best evaluation, and into the averaged part."""

    def choose(seen: int) -> Selection:
        scores = iter([0.5, 0.9, 0.1, 0.2][seen:])
        return Best(lambda: next(scores)) if selection == "best" else Average(0.6)

    torch.manual_seed(0)
    whole = new_loop(method, choose(0), tiny)
    whole.start()
    states: list[State] = []
    for _ in whole.run():
        tensors, values = whole.state()
        states.append(State({name: value.clone() for name, value in tensors.items()}, values))
    for state in states[:6]:
        torch.manual_seed(99)
        other = new_loop(method, choose(state.values["step"] // 2), tiny)
        other.restore(state)
        assert [progress.step for progress in other.run()] == list(range(state.values["step"] + 1, 8))
        for name, value in whole.model.state_dict().items():
            assert torch.equal(value, other.model.state_dict()[name]), name


@pytest.fixture(scope="module")
def corpus(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "encoder").symlink_to(tiny)
    write_documents(labelled(), folder / "train.jsonl")
    write_documents(demo.documents("dev")[:12], folder / "dev.jsonl")
    return folder


@pytest.fixture(scope="module")
def whole(corpus: Path) -> bytes:
    """The model of a run that nobody disturbed."""
    done = subprocess.run(command(corpus, corpus / "whole"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (corpus / "whole" / "best" / "model.safetensors").read_bytes()


def command(corpus: Path, output: Path, *further: str) -> list[str]:
    settings = [argument for setting in SETTINGS for argument in ("--set", setting)]
    files = ["--train", str(corpus / "train.jsonl"), "--dev", str(corpus / "dev.jsonl"), "--output", str(output)]
    files += ["--encoder", str(corpus / "encoder")]
    return [sys.executable, "-m", "mproto", "train", *files, *settings, *further]


def start(corpus: Path, output: Path) -> subprocess.Popen[str]:
    arguments = command(corpus, output, "--resume", "--set", "training.checkpoint_minutes=0")
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], output: Path, step: int) -> None:
    while process.poll() is None:
        history = read_history(output) if output.exists() else []
        if history and history[-1].step >= step:
            return
        time.sleep(0.01)


def test_killed_at_five_random_points(corpus: Path, whole: bytes, tmp_path: Path) -> None:
    generator = random.Random(0)
    output = tmp_path / "run"
    for step in sorted(generator.sample(range(1, STEPS - 10), 5)):
        process = start(corpus, output)
        wait_for(process, output, step)
        time.sleep(generator.random() * 0.1)  # anywhere in a step, an evaluation or a write
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert process.stderr is not None
        process.stderr.close()
    process = start(corpus, output)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert (output / "best" / "model.safetensors").read_bytes() == whole
    assert [progress.step for progress in read_history(output)] == list(range(1, STEPS + 1))
    assert sorted(path.name for path in output.iterdir()) == ["best", "config.toml", "history.jsonl"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop(number: signal.Signals, corpus: Path, whole: bytes, tmp_path: Path) -> None:
    output = tmp_path / "run"
    process = subprocess.Popen(command(corpus, output), stderr=subprocess.PIPE, text=True)
    wait_for(process, output, 2)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 130
    step = read_history(output)[-1].step
    assert f"stopped after step {step} of {STEPS}" in errors
    assert errors.rstrip().endswith("--resume")
    assert "Traceback" not in errors
    process = start(corpus, output)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert (output / "best" / "model.safetensors").read_bytes() == whole


class CrashError(Exception):
    """Something happens to the process."""


def stop_at(step: int) -> object:
    def on_progress(progress: Progress) -> None:
        if progress.step == step:
            raise CrashError

    return on_progress


@pytest.fixture(scope="module")
def config(tiny: str) -> Config:
    return load_config(settings=[*SETTINGS, "training.checkpoint_minutes=0"], encoder=tiny)


@pytest.fixture(scope="module")
def expected(config: Config) -> Weights:
    return train(labelled(), config=config).model.state_dict()


def stopped(folder: Path, config: Config, step: int = 6) -> list[Path]:
    """A run that ended badly after a step; its checkpoints, oldest first."""
    with pytest.raises(CrashError):
        train(labelled(), config=config, output=folder, on_progress=stop_at(step))  # type: ignore[arg-type]
    return sorted((folder / "checkpoints").iterdir())


def resumed(folder: Path, config: Config, notes: Notes) -> Weights:
    train(labelled(), config=config, output=folder, resume=True, notes=notes)
    return load_file(folder / "best" / "model.safetensors")


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size * 2 // 3)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 4]))


@pytest.mark.parametrize("damage", [cut, flip])
def test_a_damaged_checkpoint_is_passed_over(damage: object, config: Config, expected: Weights, tmp_path: Path) -> None:
    older, newer = stopped(tmp_path, config)
    assert [path.name[:8] for path in (older, newer)] == ["00000004", "00000005"]
    damage(newer)  # type: ignore[operator]
    notes = Notes()
    assert same(resumed(tmp_path, config, notes), expected)
    (message,) = notes.messages()
    assert newer.name in message
    assert "goes on from step 4" in message


def test_without_a_whole_checkpoint_training_starts_again(config: Config, expected: Weights, tmp_path: Path) -> None:
    for path in stopped(tmp_path, config):
        flip(path)
    notes = Notes()
    assert same(resumed(tmp_path, config, notes), expected)
    assert notes.messages() == ["2 checkpoints are damaged, and none is whole: training starts again"]


def test_a_full_disk_costs_the_new_checkpoint_only(
    config: Config, expected: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = checkpoint.save_file, 0

    def limited(tensors: Weights, path: Path, metadata: dict[str, str]) -> None:
        nonlocal written
        written += 1
        if written > 2:
            path.write_bytes(b"half of it")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(tensors, path, metadata)

    monkeypatch.setattr(checkpoint, "save_file", limited)
    notes = Notes()
    with pytest.raises(CrashError):
        train(labelled(), config=config, output=tmp_path, on_progress=stop_at(6), notes=notes)  # type: ignore[arg-type]
    assert notes.messages() == ["3 checkpoints could not be written (No space left on device)"]
    assert [path.name[:8] for path in sorted((tmp_path / "checkpoints").iterdir())] == ["00000001", "00000002"]
    monkeypatch.undo()
    assert same(resumed(tmp_path, config, Notes()), expected)


def test_stopping_when_the_disk_is_full_says_what_is_left(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def interrupt(progress: Progress) -> None:
        if progress.step == 3:
            monkeypatch.setattr(checkpoint, "save_file", full)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="could not be written, but that of step 2 is there to resume from"):
        train(labelled(), config=config, output=tmp_path, on_progress=interrupt)


def test_a_finished_run_is_not_trained_again(config: Config, tmp_path: Path) -> None:
    trained = train(labelled(8), config=config, output=tmp_path)
    seen: list[Progress] = []
    again = train(labelled(8), config=config, output=tmp_path, resume=True, on_progress=seen.append)
    assert not seen
    assert same(trained.model.state_dict(), again.model.state_dict())


def test_a_run_goes_on_only_as_it_was(config: Config, tmp_path: Path) -> None:
    stopped(tmp_path, config)
    with pytest.raises(InputError, match=r"started with training.learning_rate = 0.0005, and not 0.001"):
        other = load_config(settings=[*SETTINGS, "training.learning_rate=1e-3"], encoder=config.encoder)
        train(labelled(), config=other, output=tmp_path, resume=True)
    with pytest.raises(InputError, match="started with other training documents; go on with the same call"):
        train(labelled(40), config=config, output=tmp_path, resume=True)
    with pytest.raises(InputError, match="started with other development documents"):
        train(labelled(), dev=demo.documents("dev"), config=config, output=tmp_path, resume=True)


def test_resuming_nothing_begins(config: Config, tmp_path: Path) -> None:
    train(labelled(8), config=config, output=tmp_path / "new", resume=True)
    assert Recognizer.from_pretrained(tmp_path / "new").labels == ("Chemical", "Disease")


def test_averaged_weights_are_the_mean(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Weights] = []
    original = Average.after_step

    def watch(self: Average, model: torch.nn.Module, step: int, steps: int) -> None:
        seen.append({name: value.clone() for name, value in model.state_dict().items()})
        original(self, model, step, steps)  # type: ignore[arg-type]

    monkeypatch.setattr(Average, "after_step", watch)
    config = load_config(settings=[*SMALL, "training.min_steps=5", "training.average=0.6"], encoder=tiny)
    found = train(labelled(), config=config).model.state_dict()
    for name, value in found.items():
        if value.is_floating_point():
            torch.testing.assert_close(value, torch.stack([state[name] for state in seen[2:]]).mean(0))
