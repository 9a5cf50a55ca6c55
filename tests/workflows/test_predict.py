"""Predictions for files: written completely or not at all, resumed, and shown on screen."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mproto import Document, Entry, Gazetteer, Recognizer, Span, demo, read_documents
from mproto.cli import main
from mproto.denoising.outlook import Way
from mproto.errors import InputError
from mproto.inference.gazetteer_terms import COMBINATIONS, Combination
from mproto.io.resumable import ResumableLog
from mproto.io.sources import Source
from mproto.workflows.predict import PREDICTIONS, Reading, predict_file, predict_page
from runs import recommending, small_model

DOCUMENTS = [Document(f"text number {i}", id=str(i)) for i in range(7)]


def label(documents: Iterator[Document]) -> Iterator[Document]:
    for document in documents:
        yield document.with_spans([Span(0, 4, "A")], None).with_meta({"scores": [0.5]})


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("stop", range(8))
def test_work_is_resumed_where_it_was_stopped(stop: int, tmp_path: Path) -> None:
    seen: list[str] = []

    def predict(documents: Iterator[Document]) -> Iterator[Document]:
        for document in label(documents):
            seen.append(document.id)
            yield document

    found: list[Document] = []
    with pytest.raises(StoppedError), ResumableLog(tmp_path / "out", "a model", PREDICTIONS, resume=False) as log:
        for number, document in enumerate(log.run(DOCUMENTS, predict)):
            if number == stop:
                raise StoppedError
            found.append(document)
        raise StoppedError
    assert log.path.exists() == bool(seen)
    with ResumableLog(tmp_path / "out", "a model", PREDICTIONS, resume=True) as log:
        again = list(log.run(DOCUMENTS, predict))
    assert again == list(label(iter(DOCUMENTS)))
    assert sorted(seen) == [document.id for document in DOCUMENTS]  # each once
    assert not list(tmp_path.iterdir())


class TestResumableLog:
    @pytest.fixture
    def stopped(self, tmp_path: Path) -> Path:
        with pytest.raises(StoppedError), ResumableLog(tmp_path / "out", "a model", PREDICTIONS, resume=False) as log:
            for number, _ in enumerate(log.run(DOCUMENTS, label)):
                if number == 3:
                    raise StoppedError
        return tmp_path / "out"

    def test_other_work(self, stopped: Path) -> None:
        with pytest.raises(InputError, match="another model.*--force instead of --resume"):
            ResumableLog(stopped, "another", PREDICTIONS, resume=True)

    def test_other_documents(self, stopped: Path) -> None:
        changed = [*DOCUMENTS[:2], Document("something else"), *DOCUMENTS[3:]]
        with (
            pytest.raises(InputError, match="document 3 has changed since"),
            ResumableLog(stopped, "a model", PREDICTIONS, resume=True) as log,
        ):
            list(log.run(changed, label))

    def test_a_line_that_was_cut(self, stopped: Path) -> None:
        log = ResumableLog(stopped, "a model", PREDICTIONS, resume=True)
        log.path.write_bytes(log.path.read_bytes()[:-5])
        with ResumableLog(stopped, "a model", PREDICTIONS, resume=True) as log:
            assert len(list(log.run(DOCUMENTS, label))) == len(DOCUMENTS)

    def test_nothing_is_discarded_without_an_option(self, stopped: Path) -> None:
        log = ResumableLog(stopped, "a model", PREDICTIONS, resume=True)
        before = log.path.read_bytes()
        message = "out: work on this output was stopped after 4 documents; resume it with --resume, or start again"
        with pytest.raises(InputError, match=message):
            ResumableLog(stopped, "another", PREDICTIONS, resume=False)
        assert log.path.read_bytes() == before

    def test_force_starts_again(self, stopped: Path) -> None:
        with ResumableLog(stopped, "another", PREDICTIONS, resume=False, force=True) as log:
            assert len(list(log.run(DOCUMENTS, label))) == len(DOCUMENTS)
        assert not list(stopped.parent.iterdir())

    def test_a_log_without_a_document_is_not_resumed(self, tmp_path: Path) -> None:
        with ResumableLog(tmp_path / "out", "a model", PREDICTIONS, resume=False) as log:
            assert log.path.exists()  # as it is after a kill
            with ResumableLog(tmp_path / "out", "another", PREDICTIONS, resume=False):
                pass


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join([*(d.text for d in demo.documents("test")[:5]), "<script>alert(1)</script> aspirin"]))
    return path


def stop_on_the_way(recognizer: Recognizer, texts: Path, output: Path) -> None:
    """Predict the file, and fail at its last document."""

    class Failing(Recognizer):
        def predict_entities(self, documents: Any, **options: Any) -> Any:
            for document in documents:
                if "<script>" in document.text:
                    raise StoppedError
            return super().predict_entities(documents, **options)

    import mproto.inference.texts as reading

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "FIRST_BLOCK", 2)
        patch.setattr(reading, "LARGEST_BLOCK", 2)
        failing = Failing(recognizer.tagger, recognizer.config)
        failing.terms = recognizer.terms
        with pytest.raises(StoppedError):
            predict_file(failing, Source(texts), output)


def test_a_file_is_the_same_when_it_was_stopped_on_the_way(texts: Path, tmp_path: Path) -> None:
    recognizer = small_model()
    predict_file(recognizer, Source(texts), tmp_path / "whole.jsonl")
    stop_on_the_way(recognizer, texts, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [".out.jsonl.progress"]
    written = predict_file(recognizer, Source(texts), tmp_path / "out.jsonl", resume=True)
    assert written.documents == 6
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not (tmp_path / ".out.jsonl.progress").exists()


@pytest.mark.parametrize(("recommended", "way"), [("both", "prefer-gazetteer"), ("terms", "terms"), ("model", "off")])
def test_work_is_resumed_only_in_the_same_way(recommended: Way, way: Combination, texts: Path, tmp_path: Path) -> None:
    """It does not matter whether the way was given or recommended in training."""
    terms = Gazetteer((Entry("aspirin", "Chemical"),))
    stop_on_the_way(recommending(recommended).with_gazetteer(terms), texts, tmp_path / "out.jsonl")
    for other in set(COMBINATIONS) - {way}:
        with pytest.raises(InputError, match="another model"):
            predict_file(small_model().with_gazetteer(terms, other), Source(texts), tmp_path / "out.jsonl", resume=True)
    given = small_model().with_gazetteer(terms, way)
    assert predict_file(given, Source(texts), tmp_path / "out.jsonl", resume=True).documents == 6
    predict_file(given, Source(texts), tmp_path / "whole.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_thresholds_and_terms(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "Chemical.txt").write_text("script\n")
    recognizer = small_model().with_gazetteer(Gazetteer.load(tmp_path), "union")
    predict_file(recognizer, Source(texts), tmp_path / "out.jsonl", Reading(threshold=1.0))
    found = [document.surface(span) for document in read_documents(tmp_path / "out.jsonl") for span in document.spans]
    assert found == ["script", "script"]


def test_a_page_shows_text_as_text(texts: Path, tmp_path: Path) -> None:
    written = predict_page(small_model(), Source(texts), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<mark") == written.spans + len(small_model().labels)  # and the legend
    assert "<script" not in page
    assert page.endswith("</body></html>\n")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recommending(None).save_pretrained(folder := tmp_path_factory.mktemp("model"))
    return folder


@pytest.mark.parametrize(
    ("recommended", "note"),
    [
        (
            "both",
            "this model alone is expected to be worse than together with its terms; pass the terms with --gazetteer",
        ),
        ("terms", "this model alone is expected to be worse than the term list alone; pass the terms with --gazetteer"),
        ("model", ""),
        (None, ""),
    ],
)
def test_a_recommendation_that_is_not_followed_is_noted(
    recommended: Way | None, note: str, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recommending(recommended).save_pretrained(tmp_path / "model")
    terms = tmp_path / "terms.tsv"
    terms.write_text("surface\ttype\naspirin\tChemical\n")
    call = ["predict", str(tmp_path / "model"), str(texts)]
    assert main([*call, "--highlight"]) == 0
    shown = capsys.readouterr().err
    assert shown == (f"note: 1 recommendation of training is not followed: {note}\n" if note else "")
    assert main([*call, "--html", str(tmp_path / "page.html"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert [note in counted for counted in figures["notes"]] == ([True] if note else [])
    assert figures["found_by"] == "model"
    for combination in ([], ["--combine", "off"]):  # with a gazetteer, the caller has decided
        assert main([*call, "--highlight", "--gazetteer", str(terms), *combination]) == 0
        assert capsys.readouterr().err == ""


def test_highlighted_text(saved: Path, texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(saved), str(texts), "--highlight"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, document in zip(lines, small_model().predict(read_documents(texts)), strict=True):
        shown = document.text
        for start, end, name in reversed(document.spans):
            shown = f"{shown[:start]}[{shown[start:end]} {name}]{shown[end:]}"
        assert line == shown


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, *streams: str) -> None:
    for name in streams:
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True)


def test_highlighted_text_does_not_obey_documents(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": "A\x1b]0;owned\x07 \x9b2J\rspirin\tone\ntwo"}))
    assert main(["predict", str(saved), str(tmp_path / "x.jsonl"), "--highlight", "--threshold", "1"]) == 0
    assert capsys.readouterr().out == "A␛]0;owned␇ \ufffd2J␍spirin  one\ntwo\n"
    on_a_terminal(monkeypatch, "stdout")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["predict", str(saved), str(tmp_path / "x.jsonl"), "--highlight"]) == 0
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)  # but for our own colours


class TestProgress:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for number in range(3):
            (tmp_path / f"{number}.txt").write_text("Aspirin helps.")
        return tmp_path

    def shown(self, saved: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
        assert main(["predict", str(saved), *map(str, arguments)]) == 0
        return capsys.readouterr().err

    def test_progress_is_not_mixed_with_output(
        self, saved: Path, texts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        on_a_terminal(monkeypatch, "stderr")
        assert "tagging" in self.shown(saved, capsys, texts, "--highlight")
        on_a_terminal(monkeypatch, "stdout")
        assert self.shown(saved, capsys, texts, "--highlight") == ""

    def test_documents_are_counted_if_bytes_cannot_be(
        self, saved: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "tagging" not in self.shown(saved, capsys, folder, "--output", folder / "plain.jsonl")
        on_a_terminal(monkeypatch, "stderr")
        for way, name in (("--output", "a.jsonl"), ("--html", "a.html")):
            shown = self.shown(saved, capsys, folder, way, folder / name)
            assert re.search(r"tagging  3 documents  [\d,]+ documents/s", shown)


class TestTooLong:
    """A document that is too long is treated like any other invalid record."""

    @pytest.fixture(autouse=True)
    def short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mproto.inference.texts.MOST_CHARACTERS", 20)

    GLINER = ['{"tokenized_text": ["Aspirin"], "ner": []}', json.dumps({"tokenized_text": 9 * ["rest"], "ner": []})]
    FILES = {
        "x.txt": "Aspirin helps.\n\n" + 3 * "Aspirin helps. " + "\nRest too.\n",
        "x.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in ["Aspirin.", "Rest.", "a" * 21, "b"]),
        "x.conll": "Aspirin O\n\n" + 9 * "rest O\n" + "\nRest O\n",
        "x.json": "[" + ",\n".join([GLINER[0], GLINER[0], GLINER[1]]) + "]",
    }

    @pytest.mark.parametrize("name", FILES)
    def test_it_is_named(self, name: str, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / name
        path.write_text(self.FILES[name])
        call = ["predict", str(saved), str(path), "--output", str(tmp_path / "out.jsonl")]
        assert main(call) == 2
        error = capsys.readouterr().err
        assert f"{path}, line 3: a text has " in error
        assert "characters; the limit is 20; split it" in error
        assert main([*call, "--on-error", "skip", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["skipped"] == 1
        assert shown["errors"] == [error.strip().removeprefix("mproto predict: ")]
        assert shown["documents"] == len(list(read_documents(tmp_path / "out.jsonl"))) > 1

    def test_in_a_folder(self, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "long.txt").write_text("a" * 21)
        assert main(["predict", str(saved), str(tmp_path), "--output", str(tmp_path / "out.jsonl")]) == 2
        assert f"{tmp_path}: document 'long' has 21 characters" in capsys.readouterr().err


def test_plain_text_from_standard_input(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["predict", str(saved), "-", "--output", str(tmp_path / "out.jsonl")]
    for code, more in ((2, []), (0, ["--from", "text"])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Aspirin helps.\n")))
        assert main([*call, *more]) == code
    error = capsys.readouterr().err
    assert (
        "standard input: its format cannot be detected from its content; pass --from text if it is plain text" in error
    )
    assert [document.text for document in read_documents(tmp_path / "out.jsonl")] == ["Aspirin helps."]


@pytest.mark.parametrize("file", ["texts.txt", "texts.jsonl"])
def test_file_names_without_a_format_that_holds_labels(
    file: str, saved: Path, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / file
    path.write_bytes(texts.read_bytes() if path.suffix == ".txt" else b'{"text": "Aspirin", "spans": []}\n')
    for name, message in (
        ("o.csv", "cannot be determined from the file name; name it with --to"),
        ("o.txt", "cannot hold labels"),
    ):
        assert main(["predict", str(saved), str(path), "--output", str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert f"{tmp_path / name}: " in error
        assert message in error
        assert main(["predict", str(saved), str(path), "--output", str(tmp_path / name), "--to", "conll"]) == 0
        capsys.readouterr()
    assert main(["predict", str(saved), str(path), "--output", str(tmp_path / "bare")]) == 0
    assert (tmp_path / "bare").read_bytes().startswith(b'{"')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of --output, --html and --highlight is needed"),
        (["--output", "a", "--html", "b"], "--output and --html"),
        (["--highlight", "--resume"], "cannot be resumed"),
        (["--output", "o.jsonl", "--threshold", "high"], "--threshold high is not a score"),
        (
            ["--output", "o.jsonl", "--threshold", "0.5", "0.6"],
            "predict: --threshold 0.5 0.6 is not a score; give a number",
        ),
        (["--output", "o.jsonl", "--threshold", "=0.5"], "predict: --threshold =0.5 is not a score"),
        (["--output", "o.jsonl", "--threshold", "A=0.5", "A=0.6"], "or TYPE=NUMBER once for each type"),
        (["--output", "o.jsonl", "--threshold", "Chemcal=0.5"], "predict: there is a threshold for 'Chemcal'"),
        (["--html", "o.html", "--threshold", "Chemcal=0.5"], "did you mean Chemical"),
        (["--highlight", "--threshold", "7"], "predict: the threshold 7.0 is not a score"),
        (["--highlight", "--json"], "cannot both go to standard output"),
        (["--output", "-", "--json"], "cannot both go to standard output"),
    ],
)
def test_wrong_calls(
    arguments: list[str],
    message: str,
    saved: Path,
    texts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["predict", str(saved), str(texts), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_json_says_what_was_written(
    saved: Path, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(saved), str(texts), "--html", str(tmp_path / "p.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 6
