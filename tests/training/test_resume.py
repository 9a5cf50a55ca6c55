"""A run that was stopped, killed or damaged is resumed to the same model, bit for bit."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.nn.functional import normalize

from encoders import write_roberta
from forked import Forked
from mproto import Recognizer, demo, train, write_documents
from mproto.config import Config, load_config
from mproto.errors import InputError, MprotoError, Notes
from mproto.io.replacement import old_folder
from mproto.models.base import Model
from mproto.models.encoder import Encoder
from mproto.models.process_group import ProcessGroup
from mproto.models.registry import get_method
from mproto.persistence import tensors as weights
from mproto.training import interrupt
from mproto.training.data import Data
from mproto.training.folder import read_history
from mproto.training.interrupt import Interrupted
from mproto.training.loop import Loop, Progress, State
from mproto.training.selection import Average, Best, Selection
from mproto.version import __version__
from runs import SMALL, labelled, small_config

STEPS = 60
Weights = dict[str, torch.Tensor]
FEWER = 30  # the first six are the hold-out phase, so that a run can be stopped in it
SETTINGS = [*SMALL, f"training.min_steps={STEPS}", "training.batch_size=4", "training.evaluate_every=7"]
SETTINGS += ["mproto.beta=auto", "mproto.denoising=threshold", "training.average=0.3"]
SHORT = [*SETTINGS, f"training.min_steps={FEWER}", "training.checkpoint_minutes=0"]


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
def test_a_loop_resumes_from_any_state(method: str, selection: str, tiny: str) -> None:
    """Across epochs (six batches), before and after the best evaluation, and during averaging."""

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


class Second(ProcessGroup):
    """The second of two processes; the first one has other random numbers."""

    size, rank = 2, 1

    def gather(self, rows: torch.Tensor) -> tuple[torch.Tensor, slice]:
        other = torch.Generator().manual_seed(7).get_state()
        return torch.cat([other.unsqueeze(0), rows]), slice(1, 2)


def test_each_process_restores_its_own_random_numbers(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "group", Second())
    loop = new_loop("tagger", Average(0.0), tiny)
    loop.start()
    next(loop.run())
    state, own = loop.state(), torch.get_rng_state()
    torch.manual_seed(99)
    new_loop("tagger", Average(0.0), tiny).restore(state)
    assert torch.equal(torch.get_rng_state(), own)


@pytest.fixture(scope="module")
def corpus(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "encoder").symlink_to(tiny)
    write_documents(labelled(240), folder / "train.jsonl")
    return folder


def assert_same(one: Path, other: Path) -> None:
    """Check that two runs have the same weights and, except for times, the same history."""
    assert (one / "best" / "model.safetensors").read_bytes() == (other / "best" / "model.safetensors").read_bytes()
    histories = [[replace(step, seconds=0, memory=0) for step in read_history(folder)] for folder in (one, other)]
    assert histories[0] == histories[1]
    assert [step.step for step in histories[0]] == list(range(1, STEPS + 1))
    assert any("unlabelled" in step.logs for step in histories[0])
    names = [sorted(path.name for path in folder.iterdir()) for folder in (one, other)]
    assert names[0] == names[1] == ["best", "config.toml", "history.jsonl", "run.json", "state.safetensors"]


def command(corpus: Path, output: Path, *further: str) -> list[str]:
    settings = [argument for setting in SETTINGS for argument in ("--set", setting)]
    files = ["--train", str(corpus / "train.jsonl"), "--output", str(output)]
    files += ["--encoder", str(corpus / "encoder"), "--no-report"]
    return ["train", *files, *settings, *further]


def start(corpus: Path, output: Path) -> Forked:
    arguments = command(corpus, output, "--resume", "--set", "training.checkpoint_minutes=0")
    return Forked(arguments, output.with_suffix(".log"))


def wait_for(process: Forked, output: Path, step: int) -> None:
    while process.is_running:
        history = read_history(output) if output.exists() else []
        if history and history[-1].step >= step:
            return
        time.sleep(0.01)


def test_killed_at_five_random_points_and_asked_to_stop_twice(corpus: Path, tmp_path: Path) -> None:
    """Real processes, and one folder."""
    whole, output = tmp_path / "whole", tmp_path / "run"
    undisturbed = Forked(command(corpus, whole), tmp_path / "whole.log")
    generator = random.Random(0)
    for step in sorted(generator.sample(range(1, STEPS - 20), 5)):
        process = start(corpus, output)
        wait_for(process, output, step)
        time.sleep(generator.random() * 0.1)  # anywhere in a step, an evaluation or a write
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    for step, number in ((STEPS - 15, signal.SIGINT), (STEPS - 8, signal.SIGTERM)):
        process = start(corpus, output)
        wait_for(process, output, step)
        os.kill(process.pid, number)
        assert process.wait() == 130
        errors = process.errors
        assert f"stopped after step {read_history(output)[-1].step} of {STEPS}" in errors
        assert "stopping after this step" in errors
        assert errors.rstrip().endswith("--resume")
        assert "Traceback" not in errors
    process = start(corpus, output)
    assert process.wait() == 0, process.errors
    assert undisturbed.wait() == 0, undisturbed.errors
    assert_same(whole, output)


class CrashError(Exception):
    """Simulates a crash of the process."""


def stop_at(step: int) -> object:
    def on_step(progress: Progress) -> None:
        if progress.step == step:
            raise CrashError

    return on_step


@pytest.fixture(scope="module")
def config(tiny: str) -> Config:
    return load_config(settings=SHORT, encoder=tiny)


@pytest.fixture(scope="module")
def expected(config: Config) -> Weights:
    return train(labelled(240), config=config).recognizer.model.state_dict()


def stopped(folder: Path, config: Config, step: int = 6) -> list[Path]:
    """Crash a run after a step; return its checkpoints, oldest first."""
    with pytest.raises(CrashError):
        train(labelled(240), config=config, output=folder, on_step=stop_at(step))  # type: ignore[arg-type]
    return sorted((folder / "checkpoints").iterdir())


def resumed(folder: Path, config: Config, notes: Notes) -> Weights:
    result = train(labelled(240), config=config, output=folder, resume=True, notes=notes)
    assert [progress.step for progress in result.history] == list(range(1, result.steps + 1))  # also those before
    assert list(result.history) == read_history(folder)
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
    assert "resumes from step 4" in message


def test_without_a_whole_checkpoint_training_starts_again(config: Config, expected: Weights, tmp_path: Path) -> None:
    for path in stopped(tmp_path, config):
        flip(path)
    notes = Notes()
    assert same(resumed(tmp_path, config, notes), expected)
    assert len(notes.messages()) == 2
    assert all("training starts again" in message for message in notes.messages())


class Disk:
    """A disk that is full after a number of writes of tensors."""

    def __init__(self, room: int) -> None:
        self.room = room

    def __call__(self, tensors: Weights, path: Path, metadata: dict[str, str] | None = None) -> None:
        self.room -= 1
        if self.room < 0:
            path.write_bytes(b"half of it")
            raise SafetensorError("I/O error: No space left on device")
        save_file(tensors, path, metadata)


def test_a_full_disk_costs_the_new_checkpoint_only(
    config: Config, expected: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "save_file", Disk(2))
    notes = Notes()
    with pytest.raises(CrashError):
        train(labelled(240), config=config, output=tmp_path, on_step=stop_at(8), notes=notes)  # type: ignore[arg-type]
    assert notes.messages() == [
        "5 checkpoints could not be written (I/O error: No space left on device)",
        "1 times the run could not be saved (I/O error: No space left on device)",
    ]
    assert [path.name[:8] for path in sorted((tmp_path / "checkpoints").iterdir())] == ["00000001", "00000002"]
    monkeypatch.undo()
    assert same(resumed(tmp_path, config, Notes()), expected)


def test_a_model_that_cannot_be_written_is_not_finished(
    config: Config, expected: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = weights.save_file

    def full(tensors: Weights, path: Path, metadata: dict[str, str] | None = None) -> None:
        if path.name == "model.safetensors":
            raise SafetensorError("I/O error: No space left on device")
        write(tensors, path, metadata)

    monkeypatch.setattr(weights, "save_file", full)
    with pytest.raises(MprotoError, match="cannot be written to .*No space left on device. Make room, and resume"):
        train(labelled(240), config=config, output=tmp_path)
    monkeypatch.undo()
    seen: list[int] = []
    train(labelled(240), config=config, output=tmp_path, resume=True, on_step=lambda p: seen.append(p.step))
    assert seen == [FEWER]
    assert same(load_file(tmp_path / "best" / "model.safetensors"), expected)


def test_stopping_when_the_disk_is_full_says_what_is_left(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def interrupt(progress: Progress) -> None:
        if progress.step == 3:
            monkeypatch.setattr(weights, "save_file", full)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="could not be written, but the run can be resumed from step 2"):
        train(labelled(240), config=config, output=tmp_path, on_step=interrupt)


def test_a_second_signal_stops_at_once(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "ECHO_SECONDS", -1)

    def twice(progress: Progress) -> None:
        if progress.step == 3:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped at once; the checkpoint of step 2 is kept in"):
        train(labelled(240), config=config, output=tmp_path, on_step=twice)


def test_the_same_signal_twice_is_one(config: Config, tmp_path: Path) -> None:
    def twice(progress: Progress) -> None:
        if progress.step == 3:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match=f"stopped after step 3 of {FEWER}; its checkpoint is in"):
        train(labelled(240), config=config, output=tmp_path, on_step=twice)


def test_a_finished_run_is_not_trained_again(config: Config, tmp_path: Path) -> None:
    trained = train(labelled(8), config=config, output=tmp_path)
    seen: list[Progress] = []
    again = train(labelled(8), config=config, output=tmp_path, resume=True, on_step=seen.append)
    assert not seen
    assert same(trained.recognizer.model.state_dict(), again.recognizer.model.state_dict())
    assert again.history == trained.history
    with pytest.raises(InputError, match="other training documents"):
        train(labelled(9), config=config, output=tmp_path, resume=True)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match="contains a run that cannot be read"):
        train(labelled(8), config=config, output=tmp_path, resume=True)
    assert (tmp_path / "best" / "model.safetensors").exists()


def test_a_log_next_to_a_run_does_not_keep_it_from_being_resumed(
    config: Config, expected: Weights, tmp_path: Path
) -> None:
    stopped(tmp_path, config)
    (tmp_path / "log.txt").write_text("epoch 1")
    (tmp_path / "best").rename(old_folder(tmp_path / "best")) if (tmp_path / "best").exists() else None
    assert same(resumed(tmp_path, config, Notes()), expected)
    assert (tmp_path / "log.txt").read_text() == "epoch 1"


def test_a_run_is_resumed_only_as_it_was(config: Config, tmp_path: Path) -> None:
    stopped(tmp_path, config)
    with pytest.raises(InputError, match=r"started with training.learning_rate = 0.0005, and not 0.001"):
        other = load_config(settings=[*SHORT, "training.learning_rate=1e-3"], encoder=config.encoder)
        train(labelled(240), config=other, output=tmp_path, resume=True)
    with pytest.raises(InputError, match="started with other training documents; resume it with the same call"):
        train(labelled(40), config=config, output=tmp_path, resume=True)
    with pytest.raises(InputError, match="started with other development documents"):
        train(labelled(240), dev=demo.documents("dev"), config=config, output=tmp_path, resume=True)


def test_a_run_is_resumed_only_with_its_version(config: Config, expected: Weights, tmp_path: Path) -> None:
    stopped(tmp_path, config)
    run = json.loads((tmp_path / "run.json").read_bytes())
    assert run.pop("mproto_version") == __version__
    for version in (None, "0.1.0", "0.1", "0.3.0", "1.2.0"):
        (tmp_path / "run.json").write_text(json.dumps(run | ({"mproto_version": version} if version else {})))
        with pytest.raises(InputError) as raised:
            train(labelled(240), config=config, output=tmp_path, resume=True)
        assert str(raised.value) == (
            f"{tmp_path}: this run was started with mproto {version or '0.1'}, and this is mproto {__version__}; "
            "resume it with that version, or start again with --force"
        )
    (tmp_path / "run.json").write_text(json.dumps({**run, "mproto_version": f"{__version__}.post1"}))
    assert same(resumed(tmp_path, config, Notes()), expected)


def test_the_model_of_a_finished_run_of_an_older_version_can_be_used(config: Config, tmp_path: Path) -> None:
    trained = train(labelled(8), config=config, output=tmp_path).recognizer
    run = json.loads((tmp_path / "run.json").read_bytes())
    del run["mproto_version"]
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert same(Recognizer.from_pretrained(tmp_path).model.state_dict(), trained.model.state_dict())
    with pytest.raises(InputError, match="started with mproto 0.1"):
        train(labelled(8), config=config, output=tmp_path, resume=True)


def test_resuming_nothing_begins(config: Config, tmp_path: Path) -> None:
    train(labelled(8), config=config, output=tmp_path / "new", resume=True)
    assert Recognizer.from_pretrained(tmp_path / "new").labels == ("Chemical", "Disease")


def test_averaged_weights_are_the_mean(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the last part of each of the models that follow cross-fitting."""
    seen: list[Weights] = []
    original = Average.after_step

    def watch(self: Average, model: torch.nn.Module, step: int, steps: int) -> None:
        if step > steps - int(0.6 * steps):
            seen.append({name: value.clone() for name, value in model.state_dict().items()})
        original(self, model, step, steps)  # type: ignore[arg-type]

    monkeypatch.setattr(Average, "after_step", watch)
    config = load_config(settings=[*SMALL, "training.min_steps=5", "training.average=0.6"], encoder=tiny)
    found = train(labelled(), config=config).recognizer.model.state_dict()
    assert len(seen) == 1 + 2 + 1  # of three, four and three steps
    for name, value in found.items():
        if value.is_floating_point():
            mean = torch.stack([state[name] for state in seen]).mean(0)
            torch.testing.assert_close(value, normalize(mean, dim=-1) if name == "bank.vectors" else mean)
