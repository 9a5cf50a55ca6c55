"""`mproto annotate` and `mproto doctor` on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mproto import demo
from mproto.cli import main

TEST, TRAIN, TERMS = demo.FOLDER / "test.jsonl", demo.FOLDER / "train.txt", demo.GAZETTEER


def put(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def annotate(*arguments: object) -> int:
    return main(["annotate", *map(str, arguments)])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


class TestAnnotate:
    def test_plain_text_becomes_json_lines(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert annotate(TRAIN, "--gazetteer", TERMS, "--output", tmp_path / "out", "--json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["documents"], shown["to"], shown["scores"]) == (705, "jsonl", None)
        records = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
        labels = [span["label"] for record in records for span in record["spans"]]
        assert {label: labels.count(label) for label in set(labels)} == shown["labels"]

    def test_labels_are_scored_and_kept_as_gold(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert annotate(TEST, "--gazetteer", TERMS, "--output", tmp_path / "out.jsonl") == 0
        assert "against the gold spans: precision 74.22, recall 36.26, F1 48.72" in capsys.readouterr().out
        record = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
        assert "gold" in record

    def test_words_stay_words(self, tmp_path: Path) -> None:
        source = put(tmp_path / "x.jsonl", '{"tokens": ["Some", "gold"], "entities": []}')
        gold = put(tmp_path / "gold.txt", "gold")
        assert annotate(source, "--gazetteer", f"C={gold}", "--output", tmp_path / "y.jsonl") == 0
        assert json.loads((tmp_path / "y.jsonl").read_text())["entities"] == [{"start": 1, "end": 2, "type": "C"}]

    def test_options_reach_the_matcher(self, tmp_path: Path) -> None:
        source = put(tmp_path / "x.txt", "GOLD gold leads lead\n")
        put(tmp_path / "A.tsv", "lead\tA\nlead\tB\ngold\tA\n")
        stop = put(tmp_path / "stop", "gold\n")
        common = [
            source,
            "--gazetteer",
            tmp_path / "A.tsv",
            "--columns",
            "term,type",
            "--output",
            tmp_path / "y.jsonl",
            "--force",
        ]

        def found(*options: object) -> list[str]:
            assert annotate(*common, *options) == 0
            record = json.loads((tmp_path / "y.jsonl").read_text())
            return [record["text"][s["start"] : s["end"]] + "/" + s["label"] for s in record["spans"]]

        assert found() == ["GOLD/A", "gold/A"]
        assert found("--case", "sensitive") == ["gold/A"]
        assert found("--stop", stop, "--plurals", "--priority", "B") == ["leads/B", "lead/B"]
        assert found("--min-length", 5) == []
        assert found("--ambiguous", "keep-all", "--stop", stop) == ["lead/A", "lead/B"]
        assert found("--fraction", 0.4, "--ambiguous", "first") == ["lead/A"]

    def test_an_interrupted_run_leaves_nothing(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "in")
        command = [sys.executable, "-m", "mproto", "annotate", "in", "--from", "text", "--output", "out.jsonl"]
        process = subprocess.Popen(
            [*command, "--gazetteer", str(TERMS)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        with (tmp_path / "in").open("w") as pipe:
            pipe.write("aspirin for the headache\n" * 20_000)
            pipe.flush()
            while not list(tmp_path.glob(".out.jsonl.*")):
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate()
        assert "stopped; no output was written" in stderr
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "what"),
        [
            (["--gazetteer", "binary.txt"], "binary.txt, line 1: is binary, not a list of terms"),
            (["--gazetteer", "empty.txt"], "empty.txt: the file is empty"),
            (["--gazetteer", "X=blank.txt"], "blank.txt: contains no terms"),
            (["--gazetteer", "=blank.txt"], "'=blank.txt' is not TYPE=FILE"),
            (["--gazetteer", "nolabel.csv"], "nolabel.csv, line 1: its header (term) has no label column"),
            (["--gazetteer", "regex.jsonl"], 'regex.jsonl, line 1: token pattern {"LEMMA": "be"} is not supported'),
            (["--gazetteer", "autoner.txt"], "autoner.txt, line 1: has columns"),
            (["--gazetteer", "ok.txt", "--fraction", "2"], "--fraction 2.0 is not a fraction"),
            (["--gazetteer", "ok.txt", "--min-length", "0"], "min_length is 0"),
            (["--gazetteer", "ok.txt", "--columns", "trem,type"], "there is no column 'trem'"),
            (["--gazetteer", "nowhere"], "nowhere: no such file or folder"),
        ],
    )
    def test_exit_two_and_a_sentence(
        self,
        arguments: list[str],
        what: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "binary.txt").write_bytes(b"a\x00b")
        for name, content in {
            "x.txt": "gold",
            "ok.txt": "gold",
            "empty.txt": "",
            "blank.txt": "\n",
            "nolabel.csv": "term\na\n",
            "regex.jsonl": '{"label": "X", "pattern": [{"LEMMA": "be"}]}',
            "autoner.txt": "X\tgold\n",
        }.items():
            put(tmp_path / name, content)
        assert annotate("x.txt", *arguments, "--output", "out.jsonl") == 2
        shown = capsys.readouterr()
        assert what in shown.err
        assert shown.err.count("\n") == 1
        assert not (tmp_path / "out.jsonl").exists()

    def test_warnings_do_not_stop_the_command(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = put(tmp_path / "x.txt", "nothing to see here\n")
        terms = put(tmp_path / "X.txt", "gold\n" * 100_000 + "a term of more words than any sentence has\n")
        assert annotate(source, "--gazetteer", terms, "--output", tmp_path / "y.jsonl") == 0
        shown = capsys.readouterr().err
        assert "99,999 entries of the gazetteer are listed more than once" in shown
        assert "1 entries of the gazetteer are longer than any document" in shown
        assert "1 documents, but no term of the gazetteer was found in them" in shown

    def test_unsupported_patterns_can_be_skipped(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = put(tmp_path / "x.txt", "gold\n")
        lines = ['{"label": "X", "pattern": [{"LEMMA": "be"}]}', '{"label": "X", "pattern": "gold"}']
        terms = put(tmp_path / "p.jsonl", "\n".join(lines))
        out = tmp_path / "y.jsonl"
        assert annotate(source, "--gazetteer", terms, "--output", out, "--on-error", "skip", "--json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["skipped"], shown["labels"]) == (1, {"X": 1})


class TestDoctor:
    def test_the_report(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = tmp_path / "r.html"
        assert main(["doctor", str(TEST), "--gazetteer", str(TERMS), "--html", str(page)]) == 0
        shown = capsys.readouterr().out
        for title in (
            "Found terms, most hits first",
            "Ambiguous terms",
            "Common words",
            "Never found",
            "Review these first",
            "Lowest precision",
        ):
            assert title in shown
        assert "Gazetteer report" in page.read_text()
        assert main(["doctor", str(TEST), "--gazetteer", str(TERMS), "--html", str(page)]) == 2
        assert "exists already" in capsys.readouterr().err

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["doctor", str(TRAIN), "--gazetteer", str(TERMS), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["documents"], shown["scores"], len(shown["sentences"])) == (705, None, 10)

    def test_a_gazetteer_that_matches_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        terms = put(tmp_path / "X.txt", "zzzz\n")
        assert main(["doctor", str(TRAIN), "--gazetteer", str(terms)]) == 0
        assert "No term was found" in capsys.readouterr().out

    def test_wrong_calls_leave_no_page(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = tmp_path / "r.html"
        assert main(["doctor", str(tmp_path / "nowhere"), "--gazetteer", str(TERMS), "--html", str(page)]) == 2
        assert main(["doctor", str(TEST), "--gazetteer", str(TERMS), "--matching", "paper"]) == 2
        assert not page.exists()
