"""Two processes train the same model as one with batches twice as large. On CPUs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from encoders import write_roberta
from mproto import write_documents
from mproto.cli import main
from mproto.errors import InputError, MissingExtraError
from mproto.models.devices import find_device
from mproto.models.process_group import SINGLE
from mproto.training.distributed import find_group
from mproto.training.folder import read_history
from runs import all_steps, labelled

STEPS = 24  # three epochs, each of which ends with a batch that is not full
SETTINGS = [
    "training.epochs=0",
    f"training.min_steps={STEPS}",
    "training.learning_rate=5e-4",
    "dropout=0",
    "mproto.beta=0.96",  # with `threshold` and `transport`; rounding could change an estimate
    "self_training.confidence=0.5",
    "positive_unlabelled.priors={Chemical = 0.1, Disease = 0.1}",
]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "MPROTO_DEBUG": "1", "TOKENIZERS_PARALLELISM": "false"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("accelerate")
    folder = tmp_path_factory.mktemp("corpus")
    write_documents(labelled(99), folder / "train.jsonl")  # 99: the last batch of an epoch has less than its share
    (folder / "encoder").mkdir()
    write_roberta(folder / "encoder", positions=200, dropout=0.0)
    return folder


def run(corpus: Path, output: Path, processes: int, *further: str) -> subprocess.CompletedProcess[str]:
    call = command(corpus, output, processes, *further)
    return subprocess.run(call, capture_output=True, text=True, check=False, env=ENVIRONMENT)


def command(corpus: Path, output: Path, processes: int, *further: str) -> list[str]:
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)] if processes > 1 else []
    )
    return [sys.executable, *launcher, "-m", "mproto", *arguments(corpus, output, *further)]


def arguments(corpus: Path, output: Path, *further: str) -> list[str]:
    settings = [argument for setting in (*SETTINGS, *further) for argument in ("--set", setting)]
    files = ["--train", corpus / "train.jsonl", "--encoder", corpus / "encoder", "--output", output]
    return ["train", *map(str, files), "--json", "--resume", "--no-report", *settings]


@pytest.mark.parametrize(
    "method",
    [
        "mproto",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "mproto transport",
                "mproto threshold",
                "tagger",
                "mpu",
                "conf-mpu",
                "autoner",
                "self-training",
            )
        ),
    ],
)
def test_two_processes_train_the_model_of_one(
    method: str,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Prototypes and weights are also compared between the processes, at every step, since `MPROTO_DEBUG` is set."""
    method, _, denoising = method.partition(" ")
    settings = [f"method={method}", *([f"mproto.denoising={denoising}"] if denoising else [])]
    two_processes = run(corpus, tmp_path / "2", 2, "training.batch_size=7", *settings)
    assert two_processes.returncode == 0, two_processes.stderr
    monkeypatch.setenv("MPROTO_DEBUG", "1")
    capsys.readouterr()
    assert main(arguments(corpus, tmp_path / "1", "training.batch_size=14", *settings)) == 0  # the one is ours
    reports = [json.loads(said) for said in (capsys.readouterr().out, two_processes.stdout)]  # one of them speaks
    one, two = (load_file(tmp_path / name / "best" / "model.safetensors") for name in ("1", "2"))
    assert one.keys() == two.keys()
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=0, atol=1e-5, msg=name)
    steps = all_steps(STEPS) if (method, denoising) == ("mproto", "") else STEPS
    assert reports[0]["steps"] == reports[1]["steps"] == steps
    histories = [read_history(tmp_path / str(processes)) for processes in (1, 2)]
    for first, second in zip(*histories, strict=True):
        assert first.words == second.words
        assert first.logs == pytest.approx(second.logs, abs=1e-3)


def start_two(call: list[str]) -> list[subprocess.Popen[bytes]]:
    """Start the two processes without a launcher: the processes of a launcher that is killed go on."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    together = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    return [
        subprocess.Popen(
            [sys.executable, "-m", "mproto", *call],
            env={**ENVIRONMENT, **together, "RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank in "01"
    ]


@pytest.mark.slow
def test_two_killed_processes_are_resumed(corpus: Path, tmp_path: Path) -> None:
    """With dropout, so that the random states of both processes must be restored."""
    settings = ["training.batch_size=7", "dropout=0.3", "training.checkpoint_minutes=0"]
    whole, output = tmp_path / "whole", tmp_path / "run"
    assert run(corpus, whole, 2, *settings).returncode == 0
    processes = start_two(arguments(corpus, output, *settings))
    middle = all_steps(STEPS) // 2  # in the second round of cross-fitting
    while processes[0].poll() is None and (not output.exists() or len(read_history(output)) < middle):
        time.sleep(0.01)
    for process in processes:
        process.kill()
    assert [process.wait() for process in processes] == [-signal.SIGKILL] * 2
    done = run(corpus, output, 2, *settings)
    assert done.returncode == 0, done.stderr
    one, two = (load_file(folder / "best" / "model.safetensors") for folder in (whole, output))
    for name in one:
        assert torch.equal(one[name], two[name]), name
    refused = run(corpus, output, 1, *settings)
    assert refused.returncode != 0
    assert "processes = 2, and not 1" in refused.stderr


def test_a_single_process_needs_no_process_group() -> None:
    assert find_group(torch.device("cpu")) is SINGLE


def test_several_processes_need_accelerate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mproto-ner\[distributed\]'"):
        find_group(torch.device("cpu"))


@pytest.mark.parametrize(
    ("name", "message"), [("cuda:77", "is not available"), ("gpu", "no device 'gpu'"), ("meta", "is not available")]
)
def test_a_device_that_is_not_there(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_device(name)
    assert find_device("cpu") == torch.device("cpu")
