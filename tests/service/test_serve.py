"""`mproto serve` as a process: it prints its address, answers, stops gracefully, and explains why it does not start."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from mproto import Recognizer
from mproto.cli import main, serve
from mproto.denoising.outlook import Way
from runs import recommending


def fail(*arguments: object, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a wrong call in this process, and return its error message, which is one line."""
    assert main(["serve", *map(str, arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


def known(entities: list[dict[str, Any]]) -> list[tuple[str, str, float]]:
    return [(entity["entity_group"], entity["word"], entity["score"]) for entity in entities]


def test_the_example_answers_and_stops_gracefully(tmp_path: Path) -> None:
    recommending("both").save_pretrained(tmp_path / "my-run")
    (tmp_path / "terms.tsv").write_text("surface\ttype\nnumber 7\tNumber\n")
    arguments = [*shlex.split(serve.EXAMPLE)[1:], "--port", "0", "--threads", "1", "--batch-size", "2", "--json"]
    arguments += ["--gazetteer", "terms.tsv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mproto", *arguments],
        cwd=tmp_path,
        env=os.environ | {"MPROTO_TOKEN": "s3cret"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(5)]
        printed = json.loads("".join(lines))
        address = printed["address"]
        assert printed["found_by"] == "model and gazetteer (prefer-gazetteer), as recommended in training"
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        while '"ready"' not in process.stderr.readline():
            pass
        texts = [f"Aspirin helps against headache number {i}" for i in range(40)]
        headers = {"Authorization": "Bearer s3cret"}
        answers: list[httpx.Response] = []
        asking = threading.Thread(
            target=lambda: answers.append(
                httpx.post(f"{address}/v1/entities", json={"texts": texts}, headers=headers, timeout=60)
            )
        )
        with httpx.Client(base_url=address, headers=headers) as client:
            asking.start()
            while "mproto_batch_texts_count 0.0" in client.get("/metrics").text:
                pass
            process.send_signal(signal.SIGTERM)  # while most of the texts are waiting
        with pytest.raises(httpx.TransportError):  # the socket is closed soon; until then the service is ready
            while httpx.get(f"{address}/health/ready").status_code == 200:
                pass
        asking.join()
        assert [len(answer.json()["entities"]) for answer in answers] == [40]
        (terms,) = [
            [
                text
                for text, found in enumerate(answer.json()["entities"])
                if ("Number", "number 7", 1.0) in known(found)
            ]
            for answer in answers
        ]
        assert terms == [7]
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert '"message":"stopped"' in errors
        assert "Aspirin" not in errors
    finally:
        process.kill()
        process.wait()


FOUND_BY: dict[Way | None, str] = {
    "both": "model and gazetteer (prefer-gazetteer), as recommended in training",
    "model": "model without gazetteer, as recommended in training",
    "terms": "gazetteer without model, as recommended in training",
    None: "model and gazetteer (prefer-gazetteer)",
}


@pytest.mark.parametrize(("recommended", "found_by"), FOUND_BY.items())
def test_the_way_that_is_used_is_printed_before_the_model_is_loaded(
    recommended: Way | None,
    found_by: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is that of the loaded model; also for a model on the hub, which is fetched first."""
    recommending(recommended).save_pretrained(tmp_path / "model")
    (tmp_path / "terms.tsv").write_text("surface\ttype\naspirin\tChemical\n")
    loads: list[Callable[[], Recognizer]] = []
    fetched: list[str] = []

    def serve_nothing(load: Callable[[], Recognizer], name: str, listening: socket.socket, *_: object) -> None:
        loads.append(load)
        listening.close()

    def fetch(name: str, **_: object) -> Path:
        fetched.append(name)
        return tmp_path / "model"

    monkeypatch.setattr("mproto.service.server.serve", serve_nothing)
    monkeypatch.setattr("mproto.persistence.hub.find_model", fetch)
    arguments = ["--port", "0", "--gazetteer", str(tmp_path / "terms.tsv")]
    for model in (str(tmp_path / "model"), "somebody/model"):
        assert main(["serve", model, *arguments]) == 0
        assert f"entities are found by {found_by}\n" in capsys.readouterr().out
        assert main(["serve", model, *arguments, "--combine", "terms", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["found_by"] == "gazetteer without model"
    assert fetched == ["somebody/model"]  # not if the way is given: the service then starts before the model is there
    default, given = (load().terms for load in loads[:2])
    assert default is not None
    assert given is not None
    assert default.combination == (recommending(recommended).recommended_combination or "prefer-gazetteer")
    assert given.combination == "terms"


class TestWrongCalls:
    def test_a_combination_of_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "needs a gazetteer" in fail(tmp_path, "--combine", "union", capsys=capsys)
        assert "nowhere: no such file" in fail(tmp_path, "--gazetteer", tmp_path / "nowhere", capsys=capsys)

    def test_no_model(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "nowhere: no such folder; name the folder of a model" in fail(
            tmp_path / "nowhere", "--port", 0, capsys=capsys
        )

    def test_a_folder_without_a_model(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["serve", str(tmp_path), "--port", "0"]) == 2
        shown = capsys.readouterr()
        assert f"{tmp_path}: is not a model: it has no config.json; name the folder of a model" in shown.err
        assert not shown.out

    def test_a_port_that_is_taken(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            message = fail(tmp_path, "--port", port, capsys=capsys)
        assert f"cannot listen on 127.0.0.1, port {port} (Address already in use); give another --port" in message

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--port", "70000"], "--port 70000 is not a valid port"),
            (["--host", "no such host"], "--host 'no such host' is not an address of this machine"),
            (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
            (["--threads", "0"], "--threads 0 is not a number of threads; give 1 or more"),
            (["--max-queue", "2"], "never fit into a queue of 2; give --max-queue 256 or more"),
            (["--token", ""], "the token is empty, or contains spaces"),
            (["--token", "a b"], "the token is empty, or contains spaces"),
        ],
    )
    def test_arguments(
        self, arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert message in fail(tmp_path, *arguments, capsys=capsys)

    def test_without_the_extra(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [name for name in sys.modules if name.startswith("mproto.service.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "uvicorn", None)
        assert "run: pip install 'mproto-ner[serve]'" in fail(tmp_path, capsys=capsys)
