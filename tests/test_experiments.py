"""The page of results says what the cells say, and every figure of it is the one that they give."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="the experiments are not part of the sdist")


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    pytest.importorskip("torch")


def names() -> list[str]:
    listing = (ROOT / "experiments" / "__main__.py").read_text() if (ROOT / "experiments").is_dir() else ""
    return [line.strip(' ",') for line in listing.splitlines() if line.startswith('    "')]


@pytest.mark.parametrize("name", names())
def test_the_page_is_up_to_date(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `python -m experiments.NAME --render` where it is not."""
    figures, experiment = import_module("experiments.figures"), import_module(f"experiments.{name}")
    if not any((figures.RESULTS / f"{cell}.json").exists() for cell in experiment.cells()):
        pytest.skip("nothing of it has been run yet")
    monkeypatch.setattr(figures, "FIGURES", tmp_path)
    text = experiment.render()
    page = (ROOT / "experiments" / "RESULTS.md").read_text()
    assert text.strip() in page
    for figure in tmp_path.iterdir():
        assert figure.read_bytes() == (ROOT / "experiments" / "figures" / figure.name).read_bytes()
        ET.parse(figure)
        assert figure.stat().st_size < 500_000


def test_the_list_says_what_is_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["experiments", "list"])
    runpy.run_module("experiments", run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == names()
    assert "1/1" in next(line for line in lines if line.startswith("annotation_quality"))


def test_sections_replace_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = import_module("experiments.page")
    monkeypatch.setattr(page, "PAGE", tmp_path / "R.md")
    page.write_section("Ablation", "first")
    page.write_section("Main table", "second\n\n### part\n\nthird")
    page.write_section("Ablation", "fourth")
    text = (tmp_path / "R.md").read_text()
    assert text.startswith("# Results\n")
    assert text.endswith("## Main table\n\nsecond\n\n### part\n\nthird\n\n## Ablation\n\nfourth\n")
