"""Bad input: exit code 2, no output, and one sentence with file, line, value and remedy."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mproto.cli import main

GOOD = '{"text": "Aspirin", "spans": []}'
CASES = {
    "wrong JSON": ("x.jsonl", GOOD + '\n{"text": \n', None, ["x.jsonl, line 2", "not valid JSON", "correct"]),
    "not an object": ("x.jsonl", GOOD + "\n[1]\n", None, ["line 2", "[1] is not a JSON object"]),
    "a missing key": ("x.jsonl", GOOD + '\n{"txt": "a"}\n', None, ["line 2", "no 'text'", "'txt'"]),
    "a wrong type": ("x.jsonl", '{"text": 5}\n', None, ["line 1", "'text' is 5, and must be a string"]),
    "a span outside": (
        "x.jsonl",
        GOOD + '\n{"text": "ab", "spans": [{"start": 1, "end": 9, "label": "Drug"}]}',
        None,
        ["line 2", "span 1–9 (Drug)", "text of 2 characters"],
    ),
    "a span upside down": (
        "x.jsonl",
        '{"text": "ab", "spans": [{"start": 2, "end": 1, "label": "D"}]}',
        None,
        ["line 1", "span 2–1 (D) is empty"],
    ),
    "a span without a label": ("x.jsonl", '{"text": "ab", "spans": [{"start": 0, "end": 1}]}', None, ["no 'label'"]),
    "words outside": (
        "x.jsonl",
        '{"tokens": ["a"], "entities": [{"start": 0, "end": 2, "type": "X"}]}',
        None,
        ["line 1", "span 0–2 (X)", "document of 1 words"],
    ),
    "an empty word": ("x.jsonl", '{"tokens": ["a", ""], "entities": []}', None, ["line 1", "word 2 is empty"]),
    "overlaps": (
        "x.jsonl",
        '{"id": "7", "text": "ab", "spans": [{"start": 0, "end": 2, "label": "X"}, {"start": 1, "end": 2, "label": "Y"}]}',
        None,
        ["x.jsonl: document 1 (7)", "'ab' (X) and 'b' (Y) overlap", "conll cannot hold that", "--on-error skip"],
    ),
    "a missing column": ("x.conll", "a B-X\nb\n", "conll", ["line 2", "'b' has 1 column where at least 2"]),
    "an unknown tag": ("x.conll", "a B-X\nb Q-Y\n", "conll", ["line 2", "unknown tag 'Q-Y'", "--bare-tags"]),
    "an unknown human tag": (
        "x.txt",
        "a B-X 0\nb O 0\nc -1 0\n",
        "conf-mpu",
        ["line 3", "unknown tag '-1'", "--bare-tags"],
    ),
    "a wrong mark": ("x.ck", "<s> O None\na Z X\n<eof> I None\n", "autoner", ["line 2", "'Z' is neither I"]),
    "mixed encodings": (
        "x.conll",
        b"caf\xc3\xa9 O\n\ncaf\xe9 B-X\n",
        "conll",
        ["line 3", r"b'\xe9' at column 4", "UTF-8"],
    ),
    "UTF-16": ("x.txt", "aspirin".encode("utf-16"), None, ["UTF-16", "iconv"]),
    "an empty file": ("x.jsonl", b"", None, ["x.jsonl", "the file is empty"]),
    "only blank lines": ("x.txt", b"\n\n", None, ["x.txt", "contains no document"]),
    "an empty array": ("x.json", b"[]", "gliner", ["contains no document"]),
    "a damaged gzip file": ("x.jsonl.gz", gzip.compress(GOOD.encode() * 1000)[:40], None, ["damaged or cut short"]),
    "an unknown format": ("x", GOOD, "jsnl", ["there is no format 'jsnl'", "did you mean jsonl?"]),
    "content of no format": ("x", "what is this", None, ["cannot be detected from its content", "--from"]),
    "a DocBin that is none": ("x.spacy", b"\x78nonsense", None, ["cannot be read as a spaCy DocBin"]),
    "half a character": ("x.jsonl", '{"text": "a\\ud800"}', None, ["document 1", "lone surrogate"]),
}


@pytest.mark.parametrize("name", CASES)
def test_one_sentence_and_nothing_left(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, content, format, expected = CASES[name]
    monkeypatch.chdir(tmp_path)
    Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    arguments = ["convert", file, "out.conll", *(["--from", format] if format else [])]
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("mproto convert: ")
    assert shown.err.count("\n") == 1
    for part in expected:
        assert part in shown.err
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_a_folder_and_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(tmp_path), str(tmp_path / "x.conll"), "--from", "conll"]) == 2
    assert "is a folder where a file is expected" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "nowhere"), str(tmp_path / "x.conll")]) == 2
    assert "nowhere: no such file or folder" in capsys.readouterr().err
    assert main(["convert", str(tmp_path), str(tmp_path / "x.conll")]) == 2
    assert "cannot be detected" in capsys.readouterr().err


def test_invalid_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text(GOOD)
    assert main(["convert", str(source), str(tmp_path / "no" / "y.conll")]) == 2
    assert "does not exist; create it first" in capsys.readouterr().err
    assert main(["convert", str(source), str(tmp_path / "y.json")]) == 2
    assert "the output format cannot be determined from the file name; name it with --to" in capsys.readouterr().err
    assert main(["convert", str(source), str(tmp_path), "--to", "conll"]) == 2
    assert "is a folder, but the output is a file" in capsys.readouterr().err
    assert main(["convert", str(source), "-", "--to", "brat"]) == 2
    assert "cannot go to standard output" in capsys.readouterr().err
    assert main(["convert", str(source), "-", "--to", "conll", "--json"]) == 2
    assert "cannot both go to standard output" in capsys.readouterr().err


def test_a_wrong_call() -> None:
    for arguments in (["convert"], ["nonsense"], [], ["convert", "a", "b", "--tags", "x"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2


@pytest.mark.parametrize(
    ("file", "content", "format"),
    [
        ("x.jsonl", "\n".join([GOOD, "{", '{"txt": 1}', GOOD]), None),
        ("x.conll", b"a B-X\n\nb\n\ncaf\xe9 O\n\nd O\n", "conll"),
        ("x.json", '[{"tokenized_text": ["a"], "ner": []}, {"ner": 1}, 5, {"tokenized_text": ["a"], "ner": []}]', None),
        (
            "x.ck",
            "<s> O None\na I X\n<eof> I None\n\n\n<s> O None\na Z X\n\nb\n\n\n<s> O None\nc I None\n<eof> I None\n",
            "autoner",
        ),
    ],
)
def test_skipped_records_are_counted(
    file: str, content: str | bytes, format: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / file
    source.write_bytes(content.encode() if isinstance(content, str) else content)
    arguments = ["convert", str(source), str(tmp_path / "out.jsonl"), "--to", "jsonl", "--on-error", "skip"]
    arguments += ["--from", format] if format else []
    assert main([*arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["documents"], shown["skipped"], len(shown["errors"])) == (2, 2, 2)
    assert all(", line " in error for error in shown["errors"])
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


def test_skipping_lists_the_first_ten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text("\n".join([GOOD, *["{"] * 25]))
    assert main(["convert", str(source), str(tmp_path / "y.conll"), "--on-error", "skip"]) == 0
    shown = capsys.readouterr().err
    assert "skipped 25 wrong records; the first 10:" in shown
    assert shown.count("is not valid JSON") == 10


def test_skipping_everything_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text("{\n{\n")
    arguments = ["convert", str(source), str(tmp_path / "y.conll"), "--from", "jsonl", "--on-error", "skip"]
    assert main(arguments) == 2
    assert "contains no valid document (2 are wrong)" in capsys.readouterr().err
    assert not (tmp_path / "y.conll").exists()


def test_skipping_overlaps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text(f"{CASES['overlaps'][1]}\n{GOOD}\n")
    assert main(["convert", str(source), str(tmp_path / "y.conll"), "--on-error", "skip"]) == 0
    assert "document 1 (7): spans 'ab' (X) and 'b' (Y) overlap" in capsys.readouterr().err
    assert (tmp_path / "y.conll").read_text() == "Aspirin O\n\n"
