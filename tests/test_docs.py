"""The documentation is true: its examples run, its links lead somewhere, and the settings that it names exist."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import mproto
from encoders import write_roberta
from mproto import Recognizer, cli, write_documents
from mproto.config import Config, load_config
from mproto.models.registry import METHODS
from mproto.persistence.card import RECOMMENDED
from runs import SMALL, labelled, recommending, small_model

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = Path(mproto.__file__).parent
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(ROOT / "experiments").glob("*.md")])
GUIDES = [page for page in [ROOT / "README.md", *DOCS.glob("*.md")] if page.exists()]
"""Pages about mproto as it is. The changelog and the experiments name what was."""

SETTINGS = {
    f"{section}.{name}" if name else section: setting
    for section, value in Config().as_dict().items()
    for name, setting in (value.items() if isinstance(value, dict) else [("", value)])
}
SECTIONS = {name.partition(".")[0] for name in SETTINGS if "." in name}


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the Python block of the README; only the encoder and the number of steps are smaller here."""
    encoder = str(write_roberta(tmp_path, positions=200))
    real = mproto.train

    def smaller(documents: Iterable[mproto.Document], **values: Any) -> Any:
        inspect.signature(real).bind(documents, **values)  # every argument that the README passes exists
        result = real(documents, config=load_config(settings=SMALL, encoder=encoder))
        result.recognizer.card[RECOMMENDED] = "both"  # so few steps may lead to any recommendation
        return result

    monkeypatch.setattr(mproto, "train", smaller, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("".join(f"{document.text}\n" for document in labelled()))
    (tmp_path / "chemicals.txt").write_text("selegiline\nibuprofen\naspirin\n")
    (tmp_path / "diseases.txt").write_text("fever\nrash\ndiarrhoea\nasthma\n")
    (code,) = python_blocks(ROOT / "README.md")
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert ("Chemical", "Selegiline") in {(found["entity_group"], found["word"]) for found in names["found"]}
    assert isinstance(names["ner"], Recognizer)
    assert (tmp_path / "my-model" / "config.json").exists()


def test_a_sweep_over_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the loop of docs/training.md twice; only the encoder and the number of steps are smaller here."""
    encoder = str(write_roberta(tmp_path, positions=200))

    def smaller(settings: Iterable[str] = (), **values: Any) -> Config:
        return load_config(settings=[*settings, *SMALL, "training.min_steps=1"], encoder=encoder, **values)

    monkeypatch.setattr("mproto.config.load_config", smaller)
    monkeypatch.chdir(tmp_path)
    write_documents(labelled(), tmp_path / "labelled.jsonl")
    (code,) = python_blocks(DOCS / "training.md")
    for _ in range(2):  # the second time there is nothing left to do
        exec(compile(code, "docs/training.md", "exec"), {})
    runs = sorted(path.name for path in (tmp_path / "sweep").iterdir())
    assert runs == [f"beta-{beta}-seed-{seed}" for beta in (0.94, 0.96, 0.98) for seed in range(3)]
    found = Recognizer.from_pretrained(tmp_path / "sweep" / runs[-1]).config
    assert (found.mproto.beta, found.training.seed) == (0.98, 2)


def test_calls_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the block of docs/using.md."""
    monkeypatch.chdir(tmp_path)
    recommending("both").save_pretrained(tmp_path / "my-run")
    (tmp_path / "chemicals.txt").write_text("aspirin\n")
    (code,) = python_blocks(DOCS / "using.md")
    names: dict[str, Any] = {}
    exec(compile(code, "docs/using.md", "exec"), names)
    (found,) = names["ner"].with_gazetteer(names["terms"])("Aspirin helps.", provenance=True)
    assert found["provenance"]["line"] == 1


def test_features_of_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the last block of docs/encoders.md, which needs no network."""
    small_model()  # skips where the encoder is missing
    names: dict[str, Any] = {}
    exec(compile(python_blocks(DOCS / "encoders.md")[-1], "docs/encoders.md", "exec"), names)
    assert names["features"].shape == (4, names["encoder"].hidden_size)


def test_adding_a_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow the recipe of docs/architecture.md: the file, and the entry in the list of methods."""
    page = (DOCS / "architecture.md").read_text("utf-8")
    (code,) = python_blocks(DOCS / "architecture.md")
    (name, model) = re.findall(r'^ +"([\w-]+)": (\w+),$', page, re.MULTILINE)[0]
    names: dict[str, Any] = {"__name__": "small_loss"}
    exec(compile(code, "docs/architecture.md", "exec"), names)
    monkeypatch.setitem(METHODS, name, names[model])
    encoder = str(write_roberta(tmp_path, positions=200))
    mproto.train(
        labelled(), config=load_config(settings=SMALL, method=name, encoder=encoder), output=tmp_path / "my-run"
    )
    recognizer = Recognizer.from_pretrained(tmp_path / "my-run")
    assert recognizer.config.method == name
    assert recognizer("Aspirin helps.") is not None
    assert '"left_out"' in (tmp_path / "my-run" / "history.jsonl").read_text()


@pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="the sdist has only some of the pages")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """Check every relative link: the file exists, and has the heading that the link names."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if heading:
            assert heading in headings(target), link


def headings(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    lines = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_settings_exist(page: Path) -> None:
    """Check every `section.key`, and every name behind `--set`."""
    text = page.read_text("utf-8")
    named = re.findall(rf"(?<![\w./-])(?:{'|'.join(SECTIONS)})\.\w+(?![\w/(])", text)
    for name in named:
        section, _, key = name.partition(".")
        if key in ("md", "py", "toml") or (section == "mproto" and is_public(key)):
            continue
        assert name in SETTINGS, name
    for name in re.findall(r"--set\s+([\w.-]+)=", text):
        assert name in SETTINGS or name.rpartition(".")[0] == "positive_unlabelled.priors", name


def is_public(name: str) -> bool:
    """Whether this is a module, or a name, of the package `mproto`."""
    return find_spec(f"mproto.{name}") is not None or name in mproto.__all__


def test_all_settings_are_listed_with_their_defaults() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", (DOCS / "settings.md").read_text(), re.M)
    defaults = {name: default for name, default, _, _ in rows}
    assert len(defaults) == len(rows)
    assert defaults.keys() == SETTINGS.keys()
    for name, default in defaults.items():
        value = SETTINGS[name]
        if isinstance(value, bool | str):
            assert default == (str(value).lower() if isinstance(value, bool) else value or "empty"), name
        else:
            assert float(default) == value, name


def test_all_methods_are_listed() -> None:
    text = (DOCS / "baselines.md").read_text("utf-8")
    assert set(re.findall(r"^\| `([\w-]+)`(?: \(default\))? \| (?![\d.])", text, re.MULTILINE)) >= METHODS.keys()


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_commands_can_be_called(page: Path) -> None:
    """Parse every command in a block of code, and check the options of every command within a sentence."""
    text = page.read_text("utf-8")
    parser = cli._parser()
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if language:
            continue
        for call in re.findall(r"(?:^|[|/] *|-m )mproto ([a-z].*)", block.replace("\\\n", " "), re.MULTILINE):
            parser.parse_args(shlex.split(call, comments=True))  # ends the test where it cannot
    (commands,) = (action.choices for action in parser._actions if isinstance(action.choices, dict))
    for command, rest in re.findall(r"`mproto ([a-z]+)([^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        assert command in commands, command
        for option in re.findall(r"--[a-z][a-z0-9-]+", rest):
            assert option in commands[command]._option_string_actions, f"{command} {option}"


@pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="the sdist has only some of the files")
@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_files_exist(page: Path) -> None:
    """Check every `python -m experiments.NAME`, and every Python file that is named in a sentence."""
    text = page.read_text("utf-8")
    for name in re.findall(r"python -m experiments\.(\w+)", text):
        assert (ROOT / "experiments" / f"{name}.py").exists(), name
    for name in re.findall(r"`([\w/]+\.py)`", text):
        places = (ROOT / name, SOURCE / name, *SOURCE.rglob(name.removeprefix("/")))
        assert name.endswith("/small_loss.py") or any(place.exists() for place in places), name


def test_all_packages_are_listed() -> None:
    """Check that the layers of docs/architecture.md are the packages that there are."""
    rows = re.findall(r"^\| (`[^|]*?(?:\\\|[^|]*)*) \|", (DOCS / "architecture.md").read_text("utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages <= named, packages - named
