"""A model folder is the old model or the new one, whenever its writer is killed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from copy import copy
from itertools import count
from pathlib import Path

import pytest

from kills import content, killed_at_each_step
from mproto import Recognizer
from mproto.config import load_config
from mproto.errors import Notes
from mproto.io.replacement import old_folder
from mproto.training.folder import RunFolder
from mproto.training.loop import Progress
from runs import SMALL
from tiny import tiny_export, tiny_model

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills a forked process")
OWN = {"mine.txt": b"of the user", "notes/more.txt": b"in a folder"}


def numbered(tmp_path: Path) -> Callable[[], Path]:
    """A function that makes a new folder with every call."""
    numbers = count()

    def new() -> Path:
        (folder := tmp_path / str(next(numbers))).mkdir()
        return folder

    return new


def noted(recognizer: Recognizer, note: str) -> Recognizer:
    """A recogniser without mentions that differs in its card."""
    recognizer = copy(recognizer)
    recognizer.mentions = None
    recognizer.card = {"note": note}
    return recognizer


def contents(folder: Path, old: Recognizer, new: Recognizer) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of the old model and of the new one."""
    for name, recognizer in (("old", old), ("new", new)):
        recognizer.save_pretrained(folder / name)
    return content(folder / "old"), content(folder / "new")


def assert_loads(folder: Path, model: Path, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """The folder holds one of the two models, complete; return which."""
    note = str(Recognizer.from_pretrained(folder).card["note"])
    assert content(model) == {"old": old, "new": new}[note]
    return note


@pytest.mark.parametrize("kind", ["torch", pytest.param("onnx", marks=pytest.mark.slow)])
def test_saving_a_model(kind: str, tmp_path: Path) -> None:
    base = tiny_model() if kind == "torch" else Recognizer.from_pretrained(tiny_export())
    old, new = noted(base, "old"), noted(base, "new")
    old_files, new_files = contents(tmp_path, old, new)

    def prepare() -> Path:
        folder = place()
        shutil.copytree(tmp_path / "old", folder / "model")
        (folder / "model" / "notes").mkdir()
        for name, data in OWN.items():
            (folder / "model" / name).write_bytes(data)
        return folder

    place = numbered(tmp_path)
    seen = []
    for folder in killed_at_each_step(prepare, lambda folder: new.save_pretrained(folder / "model")):
        shutil.copytree(folder, other := folder.with_suffix(".copy"))
        seen.append(assert_loads(folder / "model", folder / "model", old_files | OWN, new_files | OWN))
        for place_ in (folder, other):  # after loading, and without
            new.save_pretrained(place_ / "model")
            assert content(place_) == {f"model/{name}": data for name, data in (new_files | OWN).items()}
            assert [path.name for path in place_.iterdir()] == ["model"]
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {"old", "new"}


PROGRESS = Progress(1, 2, 1.0, 0.5, 0.1, 10, 1.0, best=True)
PARTS = ["best", "config.toml", "history.jsonl", "run.json", "state.safetensors"]


def test_a_folder_that_could_be_a_name_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that was moved aside is found before the hub is asked."""
    monkeypatch.chdir(tmp_path)
    noted(tiny_model(), "old").save_pretrained("models/mine")
    Path("models/mine").rename(old_folder(Path("models/mine")))
    assert Recognizer.from_pretrained("models/mine").card == {"note": "old"}


class TestRunFolder:
    config = load_config(settings=SMALL)

    def run(self, folder: Path) -> RunFolder:
        return RunFolder(folder / "run", {"seed": 1}, Notes())

    @pytest.mark.parametrize("act", [pytest.param("record", marks=pytest.mark.slow), "finish"])
    def test_the_best_model(self, act: str, tmp_path: Path) -> None:
        old, new = noted(tiny_model(), "old"), noted(tiny_model(), "new")
        files = contents(tmp_path, old, new)
        place = numbered(tmp_path)

        def prepare() -> Path:
            folder = place()
            run = self.run(folder)
            run.start(self.config)
            run.record(PROGRESS, old)
            return folder

        def replace(folder: Path) -> None:
            run = self.run(folder)
            assert run.read() is None
            run.record(PROGRESS, new) if act == "record" else run.finish(new, 2)

        seen = []
        for folder in killed_at_each_step(prepare, replace):
            shutil.copytree(folder, other := folder.with_suffix(".copy"))
            seen.append(assert_loads(folder / "run", folder / "run" / "best", *files))
            for place_ in (folder, other):
                run = self.run(place_)
                assert run.read() is None
                run.finish(new, 2)
                assert sorted(path.name for path in (place_ / "run").iterdir()) == PARTS
                assert content(place_ / "run" / "best") == files[1]
                assert b'"finished": true' in (place_ / "run" / "run.json").read_bytes()
        assert set(seen) == {"old", "new"}

    def test_starting(self, tmp_path: Path) -> None:
        """What is left can be replaced, with --force if it looks like a run."""
        for folder in killed_at_each_step(numbered(tmp_path), lambda folder: self.run(folder).start(self.config)):
            run = self.run(folder)
            has_begun = (folder / "run" / "config.toml").exists()
            run.check_new(force=has_begun)
            run.start(self.config)
            assert sorted(path.name for path in (folder / "run").iterdir()) == ["config.toml", "run.json"]
