"""RESULTS.md and its figures agree with the saved cells."""

from __future__ import annotations

import ast
import json
import re
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
    """If this fails, run `python -m experiments.NAME --render`."""
    figures, experiment = import_module("experiments.figures"), import_module(f"experiments.{name}")
    if not any((figures.RESULTS / f"{cell}.json").exists() for cell in experiment.cells()):
        pytest.skip("no cell has been run yet")
    monkeypatch.setattr(figures, "FIGURES", tmp_path)
    text = experiment.render()
    page = (ROOT / "experiments" / "RESULTS.md").read_text()
    assert text.strip() in page
    for figure in tmp_path.iterdir():
        assert figure.read_bytes() == (ROOT / "experiments" / "figures" / figure.name).read_bytes()
        ET.parse(figure)
        assert figure.stat().st_size < 500_000


def test_the_page_shows_every_figure_and_each_exists() -> None:
    page = (ROOT / "experiments" / "RESULTS.md").read_text()
    drawn = sorted((ROOT / "experiments" / "figures").iterdir())
    assert sorted(set(re.findall(r"\(figures/(.*?)\)", page))) == [figure.name for figure in drawn]
    for figure in drawn:
        ET.parse(figure)


def test_saved_cells_are_small_and_belong_to_an_experiment() -> None:
    """Figures and changed settings belong in a cell; points of maps and whole configurations do not."""
    results = ROOT / "experiments" / "results"
    for path in results.glob("**/*.json"):
        json.loads(path.read_text())
        assert path.stat().st_size < 8_000, path
    saved = {path.relative_to(results).with_suffix("").as_posix() for path in results.glob("**/*.json")}
    listed = {cell for name in names() for cell in import_module(f"experiments.{name}").cells()}
    seeds = {f"{cell.rpartition('-')[0]}-{seed}" for cell in listed for seed in range(3)}
    assert saved <= listed | seeds


def test_a_cell_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = import_module("experiments.cells")
    monkeypatch.setattr(cells, "RESULTS", tmp_path)
    cell = {"settings": {"training.seed": 1}, "test": {"f1": 0.5, "types": {"Größe": 0.25}}}
    assert cells.once("one/cell", lambda: cell) == cell
    assert cells.once("one/cell", lambda: pytest.fail("computed again")) == cell
    assert cells.load_all(["one/cell", "one/other"]) == [cell]
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["cell.json"]


def test_a_cell_has_only_the_settings_that_differ_from_the_preset() -> None:
    cells, config = import_module("experiments.cells"), import_module("mproto.config")
    changed = config.load_config(settings=["training.seed=3", "mproto.prototypes=1"], method="tagger")
    assert cells.changed_settings(changed) == {"method": "tagger", "training.seed": 3, "mproto.prototypes": 1}
    assert cells.changed_settings(config.load_config("paper"), "paper") == {}


def test_scores_are_shown_as_the_mean_of_seeds() -> None:
    cells = import_module("experiments.cells")
    found = [{"dev": {"f1": f1, "precision": 0.5, "recall": 0.75}} for f1 in (0.6, 0.61)]
    assert cells.show(found, "dev") == "60.50 (50.0 / 75.0)"
    assert cells.show(found, "dev", digits=0, note="; 2 seeds") == "60.50 (50 / 75; 2 seeds)"
    assert cells.show([]) == "not run"


def scripts() -> list[Path]:
    return sorted([*(ROOT / "experiments").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")])


@pytest.mark.parametrize("script", scripts(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_name_that_a_script_imports_exists(script: Path) -> None:
    """Nothing else runs the benchmarks, nor the functions of experiments that train."""
    for node in ast.walk(ast.parse(script.read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.partition(".")[0] in ("mproto", "experiments")
        ):
            module = import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    import_module(f"{node.module}.{alias.name}")


def test_every_setting_of_the_experiments_exists() -> None:
    load_config = import_module("mproto.config").load_config
    recipe, ablation = import_module("experiments.recipe"), import_module("experiments.ablation")
    for settings in [*recipe.SETTINGS.values(), list(ablation.SETTINGS.values())]:
        load_config(settings=settings)
    for denoising in import_module("experiments.over_training").DENOISING:
        load_config(settings=[f"mproto.denoising={denoising}"])
    load_config(import_module("experiments.leak").PRESET)


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
