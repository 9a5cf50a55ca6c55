"""Unusual inputs and environments: pipes, devices, clashes, odd exports, closed outputs."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mproto.cli import main

ONE = '{"text": "Aspirin helps", "spans": [{"start": 0, "end": 7, "label": "C"}]}\n'


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def convert(*arguments: object) -> int:
    return main(["convert", *map(str, arguments)])


def shell(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = command.replace("mproto", f"{sys.executable} -m mproto")
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, capture_output=True, text=True, check=False, env=os.environ | environment
    )


class TestStreams:
    def test_a_named_pipe_loses_nothing(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "in")
        lines = ONE * 20_000
        writer = threading.Thread(target=lambda: (tmp_path / "in").write_text(lines))
        writer.start()
        assert convert(tmp_path / "in", tmp_path / "out.jsonl") == 0
        writer.join()
        assert (tmp_path / "out.jsonl").read_text() == lines

    @pytest.mark.parametrize("compress", [False, True])
    def test_standard_input(self, compress: bool, tmp_path: Path) -> None:
        data = (ONE * 5000).encode()
        put(tmp_path / "in", gzip.compress(data) if compress else data)
        assert shell("cat in | mproto convert - out.jsonl", tmp_path).returncode == 0
        assert (tmp_path / "out.jsonl").read_bytes() == data

    def test_parquet_from_standard_input(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"tokens": [["a"]], "ner_tags": [["B-X"]]}), tmp_path / "x.parquet")
        put(tmp_path / "x.gz", gzip.compress((tmp_path / "x.parquet").read_bytes()))
        for name in ("x.parquet", "x.gz"):
            done = shell(f"cat {name} | mproto convert - - --to conll", tmp_path)
            assert done.stdout == "a B-X\n\n", done.stderr

    def test_devices_and_links_stay_what_they_are(self, tmp_path: Path) -> None:
        put(tmp_path / "x.jsonl", ONE)
        os.mkfifo(tmp_path / "pipe")
        received: list[str] = []
        reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_text()))
        reader.start()
        assert convert(tmp_path / "x.jsonl", tmp_path / "pipe", "--to", "jsonl", "--force") == 0
        reader.join()
        assert received == [ONE]
        assert (tmp_path / "pipe").is_fifo()
        (tmp_path / "link.jsonl").symlink_to("target.jsonl")
        assert convert(tmp_path / "x.jsonl", tmp_path / "link.jsonl") == 0
        assert (tmp_path / "link.jsonl").is_symlink()
        assert (tmp_path / "target.jsonl").read_text() == ONE

    def test_full_and_closed_outputs(self, tmp_path: Path) -> None:
        put(tmp_path / "x.jsonl", ONE)
        for command in ("mproto formats > /dev/full", "mproto convert x.jsonl - --to conll > /dev/full"):
            done = shell(command, tmp_path)
            assert done.returncode == 1
            assert "Traceback" not in done.stderr
            assert "No space left" in done.stderr
        assert "Traceback" not in shell("mproto formats >&-", tmp_path).stderr

    @pytest.mark.parametrize("command", ["formats", "demo --no-training", "convert --help", "score x.jsonl x.jsonl"])
    def test_a_terminal_of_letters_only(self, command: str, tmp_path: Path) -> None:
        put(tmp_path / "x.jsonl", ONE.replace('"C"', '"é\\ud800[/x]"'))
        done = shell(f"mproto {command}", tmp_path, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert done.returncode == 0, done.stderr

    def test_a_name_that_is_too_long(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        put(tmp_path / "x.jsonl", ONE)
        assert convert(tmp_path / "x.jsonl", tmp_path / f"{'n' * 300}.conll") == 2
        assert "cannot be written (File name too long)" in capsys.readouterr().err


class TestNothingIsDestroyed:
    def test_an_output_around_the_input(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "io").mkdir()
        put(tmp_path / "io" / "a.txt", "aspirin")
        assert convert(tmp_path / "io" / "a.txt", tmp_path / "io", "--to", "text-folder", "--force") == 2
        assert "is both input and output" in capsys.readouterr().err
        assert (tmp_path / "io" / "a.txt").read_text() == "aspirin"

    def test_two_at_once(self, tmp_path: Path) -> None:
        put(tmp_path / "x.jsonl", ONE)
        done = shell("for i in 1 2 3 4; do mproto convert x.jsonl y.conll & done; wait", tmp_path)
        assert done.stdout.count("documents with") == 1
        assert done.stderr.count("exists already") == 3

    def test_old_gold_files_do_not_survive(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        gold = '{"text": "a b", "spans": [], "gold": [{"start": 0, "end": 1, "label": "OLD"}]}'
        put(tmp_path / "x.jsonl", gold)
        put(tmp_path / "y.jsonl", ONE)
        assert convert(tmp_path / "x.jsonl", tmp_path / "t_text.txt") == 0
        assert convert(tmp_path / "y.jsonl", tmp_path / "t_text.txt", "--force") == 0
        assert not (tmp_path / "t_label_true.txt").exists()
        put(tmp_path / "u_label_true.txt", "O O\n")
        assert convert(tmp_path / "y.jsonl", tmp_path / "u_text.txt") == 2
        assert "u_label_true.txt: exists already" in capsys.readouterr().err

    def test_formats_with_a_second_file_do_not_go_to_standard_output(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        put(tmp_path / "x.jsonl", ONE)
        assert shell("mproto convert x.jsonl - --to conf-mpu", tmp_path).returncode == 2
        assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


def through(
    tmp_path: Path, content: str | bytes, name: str, *formats: str
) -> tuple[list[dict[str, object]], dict[str, int]]:
    """Pass a file through formats and end in JSON Lines: the records, and everything that was noted on the way."""
    path, notes = put(tmp_path / name, content), {}
    for i, format in enumerate([*formats, "jsonl"]):
        output = tmp_path / f"step{i}_text.txt"
        done = shell(f"mproto convert {path} {output} --to {format} --json", tmp_path)
        assert done.returncode == 0, done.stderr
        notes |= json.loads(done.stdout)["notes"]
        path = output
    return [json.loads(line) for line in path.read_text().splitlines()], notes


class TestClashes:
    def test_metadata_never_replaces_data(self, tmp_path: Path) -> None:
        record = {"text": "Aspirin helps", "label": [[0, 7, "C"]], "spans": [], "tokens2": 1}
        (back,), notes = through(tmp_path, json.dumps(record), "x.jsonl")
        assert back["spans"] == [{"start": 0, "end": 7, "label": "C"}]
        assert back["tokens2"] == 1
        assert notes == {"metadata values were lost: file formats use their keys for something else": 1}

    def test_our_own_files_are_ours(self, tmp_path: Path) -> None:
        record = {
            "text": "ab",
            "spans": [],
            "tokens": [{"start": 0, "end": 1}, {"start": 1, "end": 2}],
            "_task_hash": 5,
        }
        (back,), _ = through(tmp_path, json.dumps(record), "x.jsonl", "jsonl")
        assert back["words"] == [[0, 1], [1, 2]]

    @pytest.mark.parametrize("format", ["conll", "conf-mpu", "autoner", "roster"])
    def test_words_that_mean_something_else(self, format: str, tmp_path: Path) -> None:
        words = ["Aspirin", "-DOCSTART-", "<s>", "<eof>", "#", "helps"]
        record = {"tokens": words, "entities": [{"start": 2, "end": 4, "type": "X"}]}
        (back,), _ = through(tmp_path, json.dumps(record), "x.jsonl", format)
        assert len(back["words"]) == 6  # type: ignore[arg-type]
        assert len(back["spans"]) == 1  # type: ignore[arg-type]

    def test_a_label_called_none(self, tmp_path: Path) -> None:
        (back,), notes = through(tmp_path, ONE.replace('"C"', '"None"'), "x.jsonl", "autoner")
        assert [s["label"] for s in back["spans"]] == ["None_"]  # type: ignore[attr-defined]
        assert any("None_" in note for note in notes)

    def test_numbers_and_their_names_stay_together(self, tmp_path: Path) -> None:
        put(tmp_path / "types.txt", "A\nB\n")
        put(tmp_path / "x.jsonl", ONE)
        assert convert(tmp_path / "x.jsonl", tmp_path / "y.txt", "--to", "conf-mpu", "--labels", "X,C") == 0
        assert (tmp_path / "types.txt").read_text() == "A\nB\nC\n"
        assert (tmp_path / "y.txt").read_text().startswith("Aspirin -1 3\n")

    def test_the_requested_format_overrides_the_file_name(self, tmp_path: Path) -> None:
        put(tmp_path / "x.jsonl", ONE)
        assert convert(tmp_path / "x.jsonl", tmp_path / "a.dat", "--to", "parquet") == 0
        assert convert(tmp_path / "x.jsonl", tmp_path / "b.parquet", "--to", "arrow") == 0
        assert (tmp_path / "a.dat").read_bytes()[:4] == b"PAR1"
        assert (tmp_path / "b.parquet").read_bytes()[:4] == b"\xff\xff\xff\xff"


class TestOddExports:
    def test_brat_texts_must_fit(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "b").mkdir()
        put(tmp_path / "b" / "1.txt", "Aspirin\r\nhelps pain\r\n")
        put(tmp_path / "b" / "1.ann", "T1\tD 14 18\tpain\n")
        assert convert(tmp_path / "b", tmp_path / "o.jsonl") == 2
        assert "1.ann, line 1: span 14–18 is ' pai' in the text and not 'pain'" in capsys.readouterr().err
        put(tmp_path / "b" / "1.ann", "T1\tD 15 19\tpain\n")
        put(tmp_path / "b" / "2.ann", "T1\tD 15 19\tpain\n")
        assert convert(tmp_path / "b", tmp_path / "o.jsonl") == 0
        assert "1 annotation files without a text file" in capsys.readouterr().err

    @pytest.mark.parametrize("format", ["brat", "text-folder"])
    def test_a_text_that_starts_with_a_byte_order_mark(self, format: str, tmp_path: Path) -> None:
        record = '{"text": "\\ufeffAspirin", "spans": []}'
        (back,), _ = through(tmp_path, record, "x.jsonl", format)
        assert back["text"] == "\ufeffAspirin"

    def test_numbers_among_ids(self, tmp_path: Path) -> None:
        lines = '{"id": "000002", "text": "a"}\n{"text": "b"}\n{"id": "10", "text": "c"}\n{"id": "9", "text": "d"}\n'
        back, _ = through(tmp_path, lines, "x.jsonl", "text-folder")
        assert [r["id"] for r in back] == ["000002", "000003", "9", "10"]

    def test_label_studio_white_space_and_silence(self, tmp_path: Path) -> None:
        value = {"start": 0, "end": 16, "text": "Berlin, Germany", "labels": ["LOC"]}
        tasks = [
            {"data": {"text": "Berlin,  Germany"}, "annotations": [{"result": [{"type": "labels", "value": value}]}]},
            {"data": {"text": "a"}, "predictions": [{"result": []}]},
            {"data": {"text": "a"}, "annotations": [{"result": [{"type": "labels", "value": {"start": 0, "end": 1}}]}]},
        ]
        back, notes = through(tmp_path, json.dumps(tasks), "x.json")
        assert back[0]["spans"] == [{"start": 0, "end": 16, "label": "LOC"}]
        assert set(notes) == {
            "tasks have predictions only, which were not read",
            "regions without a label were not read",
        }

    def test_json_min_without_labels(self, tmp_path: Path) -> None:
        (back,), _ = through(tmp_path, '[{"id": 1, "text": "a", "annotation_id": 2, "topic": "x"}]', "x.json")
        assert (back["spans"], back["topic"]) == ([], "x")

    def test_arrays_of_doccano_records(self, tmp_path: Path) -> None:
        (back,), _ = through(tmp_path, '[{"text": "ab", "label": [[0, 1, "X"]]}]', "x.json")
        assert back["spans"] == [{"start": 0, "end": 1, "label": "X"}]

    def test_long_first_records(self, tmp_path: Path) -> None:
        (back,), _ = through(tmp_path, json.dumps({"text": "a " * 100_000, "spans": []}), "x.jsonl")
        assert len(str(back["text"])) == 200_000

    def test_comments_and_stray_tabs_in_columns(self, tmp_path: Path) -> None:
        (back,), notes = through(tmp_path, "# id = 1\nAspirin\tB-C\t\n#\tO\n", "x.conll")
        assert back["words"] == [[0, 7], [8, 9]]
        assert notes == {"comment lines were not read": 1}

    def test_further_attributes_are_counted(self, tmp_path: Path) -> None:
        _, notes = through(
            tmp_path, '{"text": "ab", "spans": [{"start": 0, "end": 1, "label": "X", "score": 0.9}]}', "x.jsonl"
        )
        assert notes == {"further attributes of spans were not read": 1}

    def test_spans_of_white_space(self, tmp_path: Path) -> None:
        _, notes = through(
            tmp_path, '{"text": "a b", "spans": [{"start": 1, "end": 2, "label": "X"}]}', "x.jsonl", "conll"
        )
        assert notes["spans were lost: they contain no word, or equal another span once widened"] == 1


BAD = {
    "null tag": {"tokens": [["a"]], "ner_tags": pa.array([[None]], pa.list_(pa.int64()))},
    "null word": {"tokens": pa.array([[None]], pa.list_(pa.string())), "ner_tags": [["O"]]},
    "numbers as words": {"tokens": [[1]], "ner_tags": [["O"]]},
    "tags that are no list": {"tokens": [["a"]], "ner_tags": ["O"]},
    "float tags": {"tokens": [["a"]], "ner_tags": [[1.5]]},
}


class TestBadRecords:
    @pytest.mark.parametrize("name", BAD)
    def test_tables(self, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pq.write_table(pa.table(BAD[name]), tmp_path / "x.parquet")
        assert convert(tmp_path / "x.parquet", tmp_path / "y.jsonl", "--labels", "O,B-X") == 2
        assert "x.parquet: " in capsys.readouterr().err

    @pytest.mark.parametrize("suffix", ["", ".gz"])
    def test_cut_tables(self, suffix: str, tmp_path: Path) -> None:
        put(tmp_path / "x.jsonl", ONE)
        convert(tmp_path / "x.jsonl", tmp_path / f"x.arrow{suffix}")
        data = (tmp_path / f"x.arrow{suffix}").read_bytes()
        put(tmp_path / "y", data[: len(data) // 2])
        assert convert(tmp_path / "y", tmp_path / "z.jsonl", "--from", "arrow") == 2

    @pytest.mark.parametrize(
        ("content", "format"),
        [
            ('{"text": ' + "[" * 50_000, "jsonl"),
            ('[{"tokenized_text": ' + "[" * 50_000, "gliner"),
            ('[{"tokenized_text": ["a"], "ner": [[' + "9" * 5000 + ', 1, "X"]]}]', "gliner"),
            ('{"text": "a", "label": [], "relations": 5}', "doccano"),
            ('{"text": "a", "words": [[0, 1, 2]]}', "jsonl"),
            ('{"text": "a", "spans": [5]}', "jsonl"),
            ('{"text": "a", "spans": [{"start": true, "end": 1, "label": "X"}]}', "jsonl"),
            ('{"text": "a", "spans": [{"start": 0.0, "end": 1, "label": "X"}]}', "jsonl"),
        ],
    )
    def test_json(self, content: str, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert convert(put(tmp_path / "x", content), tmp_path / "y.conll", "--from", format) == 2
        assert "x, line 1: " in capsys.readouterr().err

    def test_cut_json(self, tmp_path: Path) -> None:
        data = gzip.compress(b'[{"tokenized_text": ["a"], "ner": []},' + os.urandom(1000).hex().encode() * 9 + b"]")
        assert convert(put(tmp_path / "x", data[:-400]), tmp_path / "y.conll", "--from", "gliner") == 2

    def test_half_characters_can_be_skipped(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        put(tmp_path / "x.jsonl", '{"text": "\\ud800"}\n{"text": "a"}\n')
        assert convert(tmp_path / "x.jsonl", tmp_path / "y.conll", "--on-error", "skip", "--json") == 0
        assert json.loads(capsys.readouterr().out)["skipped"] == 1


def test_scores_do_not_depend_on_spacing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "x.jsonl", '{"text": "No  (aspirin).", "spans": [{"start": 5, "end": 12, "label": "C"}]}')
    assert convert(tmp_path / "x.jsonl", tmp_path / "x.conll") == 0
    capsys.readouterr()
    assert main(["score", str(tmp_path / "x.jsonl"), str(tmp_path / "x.conll"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall"]["f1"] == 1


def test_several_files_of_one_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "x.jsonl", ONE)
    files = [f"C={put(tmp_path / name, name)}" for name in ("aspirin", "gold")]
    assert main(["score", str(tmp_path / "x.jsonl"), str(tmp_path / "x.jsonl"), "--json", "--gazetteer", *files]) == 0
    assert json.loads(capsys.readouterr().out)["seen"]["gold"] == 1
