"""Predictions for files: whole or not at all, taken up again where they were stopped, shown to people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mproto import Document, Gazetteer, Recognizer, Span, demo, read_documents
from mproto.cli import main
from mproto.errors import InputError
from mproto.inputs import Source
from mproto.journal import Journal
from mproto.predicting import Reading, predict_file, predict_page
from runs import small_model

DOCUMENTS = [Document(f"text number {i}", id=str(i)) for i in range(7)]


def label(documents: Iterator[Document]) -> Iterator[Document]:
    for document in documents:
        yield document.with_spans([Span(0, 4, "A")], None).with_meta({"scores": [0.5]})


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("stop", range(8))
def test_work_goes_on_where_it_was_stopped(stop: int, tmp_path: Path) -> None:
    seen: list[str] = []

    def predict(documents: Iterator[Document]) -> Iterator[Document]:
        for document in label(documents):
            seen.append(document.id)
            yield document

    found: list[Document] = []
    with pytest.raises(StoppedError), Journal(tmp_path / "out", "a model", resume=False) as journal:
        for number, document in enumerate(journal.follow(DOCUMENTS, predict)):
            if number == stop:
                raise StoppedError
            found.append(document)
        raise StoppedError
    assert journal.path.exists() == bool(seen)
    with Journal(tmp_path / "out", "a model", resume=True) as journal:
        again = list(journal.follow(DOCUMENTS, predict))
    assert again == list(label(iter(DOCUMENTS)))
    assert sorted(seen) == [document.id for document in DOCUMENTS]  # each once
    assert not list(tmp_path.iterdir())


class TestJournal:
    @pytest.fixture
    def stopped(self, tmp_path: Path) -> Path:
        with pytest.raises(StoppedError), Journal(tmp_path / "out", "a model", resume=False) as journal:
            for number, _ in enumerate(journal.follow(DOCUMENTS, label)):
                if number == 3:
                    raise StoppedError
        return tmp_path / "out"

    def test_other_work(self, stopped: Path) -> None:
        with pytest.raises(InputError, match="another model.*without --resume"):
            Journal(stopped, "another", resume=True)

    def test_other_documents(self, stopped: Path) -> None:
        changed = [*DOCUMENTS[:2], Document("something else"), *DOCUMENTS[3:]]
        with (
            pytest.raises(InputError, match="document 3 is not the one"),
            Journal(stopped, "a model", resume=True) as j,
        ):
            list(j.follow(changed, label))

    def test_a_line_that_was_cut(self, stopped: Path) -> None:
        journal = Journal(stopped, "a model", resume=True)
        journal.path.write_bytes(journal.path.read_bytes()[:-5])
        with Journal(stopped, "a model", resume=True) as journal:
            assert len(list(journal.follow(DOCUMENTS, label))) == len(DOCUMENTS)

    def test_without_resume_it_begins_anew(self, stopped: Path) -> None:
        with Journal(stopped, "another", resume=False) as journal:
            assert len(list(journal.follow(DOCUMENTS, label))) == len(DOCUMENTS)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join([*(d.text for d in demo.documents("test")[:5]), "<script>alert(1)</script> aspirin"]))
    return path


def test_a_file_is_the_same_when_it_was_stopped_on_the_way(texts: Path, tmp_path: Path) -> None:
    recognizer = small_model()
    predict_file(recognizer, Source(texts), tmp_path / "whole.jsonl")

    class Failing(Recognizer):
        def entities(self, documents: Any, **options: Any) -> Any:
            for document in documents:
                if "<script>" in document.text:
                    raise StoppedError
            return super().entities(documents, **options)

    import mproto.inference.texts as reading

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "FIRST", 2)
        patch.setattr(reading, "AT_ONCE", 2)
        failing = Failing(recognizer.tagger, recognizer.config)
        with pytest.raises(StoppedError):
            predict_file(failing, Source(texts), tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [".out.jsonl.progress"]
    written = predict_file(recognizer, Source(texts), tmp_path / "out.jsonl", resume=True)
    assert written.documents == 6
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not (tmp_path / ".out.jsonl.progress").exists()


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
    small_model().save_pretrained(folder := tmp_path_factory.mktemp("model"))
    return folder


def test_highlighted_text(saved: Path, texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(saved), str(texts), "--highlight"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, document in zip(lines, small_model().predict(read_documents(texts)), strict=True):
        shown = document.text
        for start, end, name in reversed(document.spans):
            shown = f"{shown[:start]}[{shown[start:end]} {name}]{shown[end:]}"
        assert line == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of --output, --html and --highlight is needed"),
        (["--output", "a", "--html", "b"], "--output and --html"),
        (["--highlight", "--resume"], "cannot be resumed"),
        (["--output", "o.jsonl", "--threshold", "high"], "--threshold high is no score"),
        (["--output", "o.jsonl", "--threshold", "Chemcal=0.5"], "did you mean Chemical"),
        (["--output", "o.jsonl", "--threshold", "7"], "the threshold 7.0 is no score"),
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
