"""The report in a real browser: without a network, and with texts that contain scripts."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from encoders import embedded, write_roberta
from mproto import Document, Span, annotate, demo, train
from mproto.analysis import report as analysis_report
from mproto.analysis.report import Report, report
from mproto.cli import main
from mproto.html.report_page import report_page
from mproto.training.folder import read_history
from runs import SMALL, labelled, small_config, small_model

LONG = "https-" + "x" * 200
EVIL = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">'
SECTIONS = [
    "run",
    "curves",
    "corpus",
    "coverage",
    "scores",
    "words",
    "prototypes",
    "left-out",
    "disagreements",
    "terms",
]
BROKEN = """[...document.querySelectorAll("#scores td.n")].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects().length > 1;
}).length"""
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


LEAVES_OUT = "mproto.denoising=threshold"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run on the bundled corpus with a tiny encoder, and smaller maps than usual, which take less time."""
    folder = tmp_path_factory.mktemp("run")
    settings = [argument for setting in (*SMALL, LEAVES_OUT) for argument in ("--set", setting)]
    files = ["--train", demo.FOLDER / "train.txt", "--gazetteer", demo.GAZETTEER, "--output", folder / "run"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis_report, "MOST_POINTS", 150)
        encoder = write_roberta(folder, positions=200)
        assert main(["train", *map(str, [*files, "--encoder", encoder]), *settings]) == 0
        yield folder / "run"


def evil_documents() -> list[Document]:
    """Return texts, labels and terms that would run as scripts if they were not escaped."""
    found = list(annotate(demo.documents("test")[:30], demo.gazetteer()))
    text = f"Aspirin {EVIL} {LONG} helps against gout."
    spans = (Span(0, 7, "Chemical"), Span(8, 8 + len(EVIL), "Disease"))
    return [*found, Document(text, spans, gold=(*spans, Span(len(text) - 5, len(text) - 1, "<b>Type</b>")))]


@pytest.fixture(scope="module")
def evil_report(run: Path) -> Report:
    """A report about these documents, by a model with the bundled encoder."""
    embedded()
    model = train(labelled(), config=small_config(LEAVES_OUT)).recognizer
    return report(model, read_history(run), evil_documents(), known=["<i>term</i>"])


def test_relabelling_leaves_no_words_out() -> None:
    embedded()
    findings = report(small_model(), [], labelled()[:10], known=["aspirin"]).findings
    assert findings is not None
    assert findings.reassignment is None


class Tags(HTMLParser):
    """The tags of a page, and the addresses that it would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.scripts = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids += [values["id"]] if values.get("id") else []
        self.scripts += tag == "script"
        self.fetched += [f"{tag} {key}" for key in ("src", "href") if not (values.get(key) or "#").startswith("#")]
        assert not any(key.startswith("on") for key in values)


def test_the_page_is_complete_and_fetches_nothing(evil_report: Report) -> None:
    page = report_page(evil_report).decode()
    tags = Tags(page)
    assert [id for id in tags.ids if id in SECTIONS] == SECTIONS
    assert len(set(tags.ids)) == len(tags.ids)
    assert tags.fetched == []
    assert tags.scripts == 2
    assert not re.search(r"https?://|url\(|@import", page)
    assert len(page.encode()) < 5_000_000


def test_training_writes_a_report_about_its_data(run: Path) -> None:
    page = (run / "report.html").read_text()
    ids = Tags(page).ids
    assert [id for id in ids if id in SECTIONS] == [section for section in SECTIONS if section != "scores"]
    assert "705 documents with 17,106 words" in page


def test_facts_of_the_card_are_readable() -> None:
    model = copy.copy(small_model())
    model.card = {"names": [], "both": ["A", "B"], "scores": [{"corpus": "dev", "f1": 0.5}]}
    facts = report(model, []).facts
    assert "names" not in facts
    assert facts["both"] == "A; B"
    assert facts["scores"] == "corpus dev, f1 0.5000"


@pytest.mark.usefixtures("run")
def test_other_methods_have_pages_too() -> None:
    embedded()
    page = report_page(report(small_model("tagger"), [], labelled()[:10])).decode()
    ids = [id for id in Tags(page).ids if id in SECTIONS]
    assert ids == ["run", "curves", "corpus", "coverage", "words", "disagreements", "terms"]
    assert "The run has no history." in page
    bare = report_page(report(small_model("tagger"), [])).decode()
    assert [id for id in Tags(bare).ids if id in SECTIONS] == ["run", "curves"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1100), ("dark", 1100), ("light", 390)], ids=["light", "dark", "phone"]
)
def test_in_a_browser(scheme: str, width: int, evil_report: Report, browser: Any, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_bytes(report_page(evil_report))
    context_has_touch = width < 500
    size = {"width": width, "height": 900}
    context = browser.new_context(color_scheme=scheme, viewport=size, offline=True, has_touch=context_has_touch)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.extend([] if request.url.startswith("file:") else [request.url]))
    page.goto((tmp_path / "report.html").as_uri())
    for section in SECTIONS:
        assert page.locator(f"section#{section} h2").is_visible()
    assert page.evaluate("window.hacked") is None
    assert EVIL in page.locator("#disagreements").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # no horizontal scrolling
    assert page.evaluate(BROKEN) == 0  # numbers stay on one line, on a phone too
    self_drawn = page.locator("#map use").first
    self_drawn.scroll_into_view_if_needed()
    self_drawn.hover(force=True)
    assert page.locator("#tip").is_visible()
    shown = page.locator("#tip").inner_text()
    data = json.loads(page.locator("#points").text_content())
    assert any(f"{row[3]} · gazetteer: {row[4]}" in shown and row[1] in shown for row in data)
    page.mouse.move(2, 2)
    assert not page.locator("#tip").is_visible()
    if context_has_touch:
        box = self_drawn.bounding_box()
        page.touchscreen.tap(box["x"] + 9, box["y"] + 9)  # near the point is enough
        assert page.locator("#tip").is_visible()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(23, 23, 26)" if scheme == "dark" else "rgb(255, 255, 255)")
    assert problems == []
    context.close()


class TestCommand:
    def test_a_corpus_with_human_labels(self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        test = demo.FOLDER / "test.jsonl"
        arguments = ["report", run, "--corpus", test, "--gazetteer", demo.GAZETTEER, "--output", tmp_path / "r.html"]
        capsys.readouterr()
        assert main([*map(str, arguments), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["documents"] == 128
        assert shown["scores"]["overall"]["gold"] == 262
        assert {line["type"] for line in shown["coverage"]} == {"Chemical", "Disease"}
        assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
        assert main(list(map(str, arguments))) == 2
        assert "--force" in capsys.readouterr().err

    def test_human_labels_without_terms(self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["report", run, "--corpus", demo.FOLDER / "dev.jsonl", "--human", "--output", tmp_path / "r.html"]
        capsys.readouterr()
        assert main([*map(str, arguments), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["scores"]["overall"]["gold"] > 0
        ids = Tags((tmp_path / "r.html").read_text()).ids
        expected = ["run", "curves", "corpus", "scores", "words", "prototypes", "disagreements", "terms"]
        assert [id for id in ids if id in SECTIONS] == expected  # without the sections about the gazetteer
        assert "missing from the gazetteer" not in (tmp_path / "r.html").read_text()

    def test_a_run_alone(self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["report", str(run), "--output", str(tmp_path / "r.html")]) == 0
        assert capsys.readouterr().out == f"report: {tmp_path / 'r.html'}\n"

    def test_the_corpus_is_not_replaced(self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "c.txt").write_text("Aspirin helps.\n")
        file = str(tmp_path / "c.txt")
        assert main(["report", str(run), "--corpus", file, "--output", file, "--force"]) == 2
        assert "is both input and output" in capsys.readouterr().err
        assert (tmp_path / "c.txt").read_text() == "Aspirin helps.\n"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["nowhere"], "nowhere: no such folder; name the folder of a model"),
            (["RUN", "--human"], "--gazetteer and --human need a corpus; pass --corpus"),
            (["RUN", "--corpus", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
            (["RUN", "--corpus", "blank.txt"], "blank.txt: contains no document with words"),
        ],
    )
    def test_wrong_calls(
        self,
        arguments: list[str],
        message: str,
        run: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        (tmp_path / "blank.txt").write_text("\n \n")
        monkeypatch.chdir(tmp_path)
        given = [str(run) if argument == "RUN" else argument for argument in arguments]
        assert main(["report", *given, "--output", str(tmp_path / "r.html")]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "r.html").exists()


def test_training_without_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = write_roberta(tmp_path, positions=200)
    settings = [argument for setting in (*SMALL, LEAVES_OUT) for argument in ("--set", setting)]
    files = ["--train", demo.FOLDER / "train.txt", "--gazetteer", demo.GAZETTEER, "--output", tmp_path / "run"]
    assert main([*map(str, ["train", *files, "--encoder", encoder, "--no-report", *settings]), "--json"]) == 0
    assert not (tmp_path / "run" / "report.html").exists()
