"""The commands in real processes: exit codes, output streams, and files on disk."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mproto import demo
from mproto.cli import COMMANDS, main
from runs import SMALL, small_model
from tiny import tiny_model

NAMES = [module.__name__.rpartition(".")[2] for module in COMMANDS]
ENDING = [name for name in NAMES if name != "serve"]
"""Commands that end by themselves. The example of `serve` is in service/test_serve.py."""


def run(*arguments: object, cwd: Path | None = None, stdin: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "mproto", *map(str, arguments)], input=data, capture_output=True, cwd=cwd, check=False
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def succeed(*arguments: object, cwd: Path | None = None, stdin: str | bytes = b"") -> str:
    done = run(*arguments, cwd=cwd, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fail(*arguments: object, cwd: Path | None = None) -> str:
    """Return the error message of a wrong call, which is one line."""
    done = run(*arguments, cwd=cwd)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The files that the examples of the commands name."""
    for name in ("gold.jsonl", "predicted.jsonl"):
        (tmp_path / name).write_bytes((demo.FOLDER / "test.jsonl").read_bytes())
    (tmp_path / "terms").symlink_to(demo.GAZETTEER)
    lines = (demo.FOLDER / "train.txt").read_text().splitlines(keepends=True)
    (tmp_path / "corpus.txt").write_text("".join(lines[:32]))
    (tmp_path / "corpus.conll").write_text("Aspirin B-Chemical\nhelps O\n\n")
    return tmp_path


SHORTER = {
    "demo": ["--no-training"],
    "train": [
        "--no-report",
        *(a for s in (*SMALL, "training.min_steps=2", "mproto.init=random") for a in ("--set", s)),
    ],
}
"""Arguments that make slow examples fast. The rest of each example is run unchanged."""


@pytest.fixture
def model(name: str, corpus: Path) -> None:
    """The model that some examples name."""
    if name == "export":
        tiny_model().save_pretrained(corpus / "my-run")
    if name in ("evaluate", "predict", "report"):
        small_model().save_pretrained(corpus / "my-run")
        lines = (demo.FOLDER / "test.jsonl").read_text().splitlines(keepends=True)
        (corpus / "test.jsonl").write_text("".join(lines[:12]))
        (corpus / "new.txt").write_text("Aspirin helps against a headache.\n")


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("name", ENDING)
def test_help_has_an_example_that_works(
    name: str, corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the example in this process, since starting a new one would take longer."""
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    example = capsys.readouterr().out.rsplit("example:\n", 1)[1].strip()
    command, *arguments = shlex.split(example)
    assert command == "mproto"
    assert arguments[0] == name
    monkeypatch.chdir(corpus)
    assert main([*arguments, *SHORTER.get(name, [])]) == 0
    assert capsys.readouterr().out


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("name", ENDING)
def test_json_is_one_object_and_nothing_else(name: str, corpus: Path) -> None:
    module = next(m for m in COMMANDS if m.__name__.endswith(f".{name}"))
    arguments = [*shlex.split(module.EXAMPLE)[1:], *SHORTER.get(name, [])]
    shown = json.loads(succeed(*arguments, "--json", cwd=corpus))
    assert isinstance(shown, dict)


def test_version_and_help() -> None:
    assert re.match(r"mproto \d+\.\d+", succeed("--version"))
    assert all(name in succeed("--help") for name in NAMES)


class TestConvert:
    def test_through_pipes(self) -> None:
        line = '{"text": "Aspirin helps", "spans": [{"start": 0, "end": 7, "label": "C"}]}\n'
        assert succeed("convert", "-", "-", "--to", "conll", stdin=line) == "Aspirin B-C\nhelps O\n\n"

    def test_losses_are_printed_to_stderr(self, corpus: Path) -> None:
        done = run("convert", "gold.jsonl", "x.conll", cwd=corpus)
        assert "note: 128 document ids were lost" in done.stderr
        assert done.stdout.startswith("128 documents with 262 spans, jsonl to conll")

    def test_json(self, corpus: Path) -> None:
        shown = json.loads(succeed("convert", "gold.jsonl", "x.conll", "--json", cwd=corpus))
        assert shown["documents"] == 128
        assert shown["notes"]["document ids were lost"] == 128

    def test_nothing_is_overwritten_unasked(self, corpus: Path) -> None:
        (corpus / "x.conll").write_text("mine")
        assert "x.conll: exists already; choose another output or pass --force" in fail(
            "convert", "gold.jsonl", "x.conll", cwd=corpus
        )
        assert (corpus / "x.conll").read_text() == "mine"
        succeed("convert", "gold.jsonl", "x.conll", "--force", cwd=corpus)
        assert (corpus / "x.conll").read_text() != "mine"

    def test_input_is_not_output(self, corpus: Path) -> None:
        assert "is both input and output" in fail("convert", "gold.jsonl", "./gold.jsonl", "--force", cwd=corpus)
        assert len((corpus / "gold.jsonl").read_text().splitlines()) == 128

    def test_a_folder_with_other_files_is_never_replaced(self, corpus: Path) -> None:
        (corpus / "out").mkdir()
        (corpus / "out" / "thesis.tex").write_text("mine")
        message = fail("convert", "gold.jsonl", "out", "--to", "brat", "--force", cwd=corpus)
        assert "contains thesis.tex, which this command did not write" in message
        assert (corpus / "out" / "thesis.tex").read_text() == "mine"

    def test_folders(self, corpus: Path) -> None:
        succeed("convert", "gold.jsonl", "out", "--to", "brat", cwd=corpus)
        assert len(list((corpus / "out").iterdir())) == 256
        succeed("convert", "gold.jsonl", "out", "--to", "brat", "--force", cwd=corpus)
        succeed("convert", "out", "back.jsonl", cwd=corpus)
        assert len((corpus / "back.jsonl").read_text().splitlines()) == 128
        assert [p.name for p in corpus.iterdir() if p.name.startswith(".")] == []

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_stopped_half_way_leaves_nothing(self, number: signal.Signals, tmp_path: Path) -> None:
        fifo = tmp_path / "in"
        os.mkfifo(fifo)
        command = [sys.executable, "-m", "mproto", "convert", "in", "out.conll", "--from", "jsonl"]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        with fifo.open("w") as pipe:
            pipe.write('{"text": "aspirin"}\n' * 50_000)
            pipe.flush()
            while not list(tmp_path.glob(".out.conll.*")):
                time.sleep(0.02)
            process.send_signal(number)
            _, stderr = process.communicate()
        assert process.returncode == 130
        assert "stopped; no output was written" in stderr
        assert [p.name for p in tmp_path.iterdir()] == ["in"]

    def test_a_reader_that_has_seen_enough(self, corpus: Path) -> None:
        command = f"{sys.executable} -m mproto convert gold.jsonl - --to conll | head -1"
        done = subprocess.run(["bash", "-c", command], cwd=corpus, capture_output=True, text=True, check=True)
        assert done.stdout.count("\n") == 1
        assert "Traceback" not in done.stderr


class TestScore:
    def test_numbers(self, corpus: Path) -> None:
        shown = json.loads(succeed("score", "gold.jsonl", "predicted.jsonl", "--json", cwd=corpus))
        assert shown["overall"]["f1"] == 1
        assert shown["intervals"]["overall"]["f1"] == [1, 1]
        assert set(shown["types"]) == {"Chemical", "Disease"}

    def test_formats_may_differ(self, corpus: Path) -> None:
        rows = '{"text": "Aspirin helps", "spans": [{"start": 0, "end": 7, "label": "Chemical"}]}\n'
        (corpus / "one.jsonl").write_text(rows)
        assert json.loads(succeed("score", "one.jsonl", "corpus.conll", "--json", cwd=corpus))["overall"]["f1"] == 1

    def test_human_labels_are_the_gold_ones(self, tmp_path: Path) -> None:
        record = {"tokens": ["a", "b"], "entities": [{"start": 0, "end": 1, "type": "X"}]}
        record["human_entities"] = [{"start": i, "end": i + 1, "type": "X"} for i in range(2)]
        (tmp_path / "x.jsonl").write_text(json.dumps(record))
        shown = json.loads(succeed("score", "x.jsonl", "x.jsonl", "--json", cwd=tmp_path))
        assert (shown["overall"]["precision"], shown["overall"]["recall"]) == (1, 0.5)

    def test_seen_and_unseen_and_seeds(self, corpus: Path) -> None:
        lines = (corpus / "gold.jsonl").read_text().splitlines()
        (corpus / "half.jsonl").write_text(
            "\n".join(x if i % 3 else re.sub(r'"spans": .*', '"spans": []}', x) for i, x in enumerate(lines))
        )
        files = ["gold.jsonl", "half.jsonl", "--json", "--bootstrap", 50]
        one = json.loads(succeed("score", *files, "--gazetteer", "terms", cwd=corpus))
        assert one["seen"]["gold"] + one["unseen"]["gold"] == 262
        assert one["seen"]["gold"] == 96
        assert one["intervals"] != json.loads(succeed("score", *files, "--seed", 1, cwd=corpus))["intervals"]

    def test_different_documents(self, corpus: Path) -> None:
        lines = (corpus / "gold.jsonl").read_text().splitlines(keepends=True)
        (corpus / "short.jsonl").write_text("".join(lines[:5]))
        assert "short.jsonl: ends after 5 documents" in fail("score", "gold.jsonl", "short.jsonl", cwd=corpus)
        assert "short.jsonl: ends after 5 documents" in fail("score", "short.jsonl", "gold.jsonl", cwd=corpus)
        (corpus / "other.jsonl").write_text("".join(reversed(lines)))
        assert "document 1 is" in fail("score", "gold.jsonl", "other.jsonl", cwd=corpus)

    def test_wrong_gazetteers(self, corpus: Path) -> None:
        files = ["gold.jsonl", "predicted.jsonl"]
        assert "'a=' is not TYPE=FILE" in fail("score", *files, "--gazetteer", "a=", cwd=corpus)
        assert "nowhere.txt: no such file" in fail("score", *files, "--gazetteer", "X=nowhere.txt", cwd=corpus)


def test_formats_of_one_name() -> None:
    assert succeed("formats", "conll").startswith("conll")
    assert "did you mean conll" in fail("formats", "conl")


def test_demo_describes_the_bundled_corpus() -> None:
    shown = json.loads(succeed("demo", "--no-training", "--json"))
    assert shown["splits"]["train"]["spans"] == {}
    assert 0.35 <= shown["scores"]["dictionary lookup"]["overall"]["recall"] <= 0.5


def test_debugging_shows_where_it_happened(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mproto", "convert", "nowhere", "x.conll"],
        cwd=tmp_path,
        env=os.environ | {"MPROTO_DEBUG": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" in done.stderr
