"""What the documentation shows can be run as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from encoders import write_roberta
from mproto import Recognizer, config, write_documents
from mproto.config import Config, load_config
from runs import SMALL, labelled, small_model

DOCS = Path(__file__).parent.parent / "docs"


def test_a_sweep_over_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten lines of docs/training.md; only the encoder and the number of steps are made smaller here."""
    encoder = str(write_roberta(tmp_path, positions=200))

    def smaller(settings: Iterable[str] = (), **values: Any) -> Config:
        return load_config(settings=[*settings, *SMALL, "training.min_steps=1"], encoder=encoder, **values)

    monkeypatch.setattr(config, "load_config", smaller)
    monkeypatch.chdir(tmp_path)
    write_documents(labelled(), tmp_path / "labelled.jsonl")
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "training.md").read_text(), re.DOTALL)
    for _ in range(2):  # the second time there is nothing left to do
        exec(compile(code, "docs/training.md", "exec"), {})
    runs = sorted(path.name for path in (tmp_path / "sweep").iterdir())
    assert runs == [f"beta-{beta}-seed-{seed}" for beta in (0.94, 0.96, 0.98) for seed in range(3)]
    found = Recognizer.from_pretrained(tmp_path / "sweep" / runs[-1]).config
    assert (found.mproto.beta, found.training.seed) == (0.98, 2)


def test_calls_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first block of docs/using.md."""
    monkeypatch.chdir(tmp_path)
    small_model().save_pretrained(tmp_path / "my-run")
    (tmp_path / "chemicals.txt").write_text("aspirin\n")
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "using.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "docs/using.md", "exec"), names)
    (found,) = names["ner"].with_gazetteer(names["terms"], "union")("Aspirin helps.", provenance=True)
    assert found["provenance"]["line"] == 1
