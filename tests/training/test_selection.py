"""Choosing weights: which strategy is used when, and what each needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from encoders import write_roberta
from mproto import Document, Recognizer, demo, train
from mproto.config import Config, load_config
from mproto.errors import InputError, MissingExtraError
from mproto.training.board import Board
from mproto.training.loop import Progress
from runs import SMALL, all_steps, judge_steps, labelled


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200))


def config(tiny: str, *settings: str) -> Config:
    return load_config(settings=[*SMALL, "training.evaluate_every=2", *settings], encoder=tiny)


BEFORE = judge_steps(6)  # they are not evaluated
AFTER = all_steps(6) - BEFORE


def scores(tiny: str, selection: str, dev: list[Document] | None = None) -> list[float | None]:
    found: list[float | None] = []
    settings = config(tiny, f'training.selection="{selection}"')
    train(labelled(200), dev=dev, config=settings, on_step=lambda progress: found.append(progress.score))
    assert found[:BEFORE] == [None] * BEFORE
    return found[BEFORE + 1 :: 2]


def test_without_gold_labels_nothing_is_scored(tiny: str) -> None:
    assert scores(tiny, "auto") == scores(tiny, "last") == [None] * (AFTER // 2)
    assert scores(tiny, "last", demo.documents("dev")[:20]) == [None] * (AFTER // 2)


def test_with_gold_labels_evaluations_are_scored(tiny: str) -> None:
    dev = demo.documents("dev")[:20]
    found = scores(tiny, "auto", dev)
    assert found == scores(tiny, "dev", dev)
    assert None not in found
    with pytest.raises(InputError, match="selection is dev, but there are no development data"):
        scores(tiny, "dev")


def test_additional_measures_do_not_affect_selection(tiny: str, tmp_path: Path) -> None:
    seen: list[dict[str, float]] = []

    def measure(recognizer: Recognizer) -> float:
        return float(len(recognizer.labels))

    plain = train(labelled(), config=config(tiny)).recognizer
    watched = train(
        labelled(),
        config=config(tiny),
        output=tmp_path / "run",
        measures={"types": measure},
        on_step=lambda progress: seen.append(progress.logs),
    ).recognizer
    assert ["types" in logs for logs in seen] == [False] * BEFORE + [False, True] * (AFTER // 2)
    assert seen[-1]["types"] == 2
    for name, value in plain.model.state_dict().items():
        assert value.equal(watched.model.state_dict()[name])
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    assert last["memory"] > 100
    assert {"cross_entropy", "kept", "similarity.O", "similarity.Chemical", "types"} <= last["logs"].keys()


def test_curves_for_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = Board(tmp_path / "curves")
    for step in (1, 2):
        board(Progress(step, 2, 1.0, 0.5 / step, 1e-4, 100, 0.5, 1, {"similarity.O": 0.7}, score=0.25 * step))
    board.close()
    accumulator = events.EventAccumulator(str(tmp_path / "curves"))
    accumulator.Reload()
    assert [event.value for event in accumulator.Scalars("loss")] == [0.5, 0.25]
    assert [event.value for event in accumulator.Scalars("score")] == [0.25, 0.5]
    assert accumulator.Scalars("words_per_second")[0].value == 200
    assert accumulator.Scalars("similarity/O")[1].step == 2
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"mproto-ner\[tensorboard\]"):
        Board(tmp_path)
