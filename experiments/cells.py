"""The data, the call that trains, and cells: results computed once and kept as JSON files."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from mproto import Document, read_documents, score, train
from mproto.config import load_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mproto import Recognizer, TrainingResult
    from mproto.config import Config
    from mproto.training.loop import Progress

_ROOT = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data"))
DATA, DICTIONARIES = _ROOT / "datasets", _ROOT / "dictionaries"
RESULTS = Path(__file__).parent / "results"
RUNS = Path(__file__).parent / "runs"
"""Run folders of unfinished cells, with their checkpoints."""
PRECISION = f"training.precision={os.environ.get('EXPERIMENTS_PRECISION', 'auto')}"
"""`bfloat16` takes three fifths of the time where the processor supports it. Cells record it."""
SHOWN_EVERY = 25
"""Steps between two lines of progress."""
Cell = dict[str, Any]


def require_data() -> None:
    if not DATA.is_dir():
        sys.exit(f"{DATA} does not exist; set MPROTO_DATA to the folder that holds datasets/ and dictionaries/")


def documents(data: str, split: str) -> list[Document]:
    return list(read_documents(DATA / data / f"{split}.jsonl"))


def once(name: str, work: Callable[[], Cell]) -> Cell:
    """Load `results/NAME.json`, or compute and save it if it does not exist."""
    found = load(name)
    if found is None:
        found = work()
        path = RESULTS / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(_one_line_per_key(found))
        partial.rename(path)
    return found


def load(name: str) -> Cell | None:
    """Load `results/NAME.json` if it exists."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def load_all(names: Iterable[str]) -> list[Cell]:
    """Load those cells that exist."""
    return [cell for name in names if (cell := load(name))]


def _one_line_per_key(cell: Cell) -> str:
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in cell.items())
    return f"{{\n{lines}\n}}\n"


def run_training(name: str, corpus: list[Document], config: Config, **options: Any) -> TrainingResult:
    """Train, printing a line every 25 steps. Nothing else here calls `mproto.train`.

    Args:
        name: printed in front of each line.
        corpus: documents with distant spans.
        config: all settings of the run.
        options: passed on to `mproto.train`.
    """
    return train(corpus, config=config, progress=False, on_step=lambda step: show_progress(name, step), **options)


def show_progress(name: str, progress: Progress) -> None:
    if progress.step % SHOWN_EVERY == 0:
        print(f"{name} {progress.step}/{progress.steps} loss {progress.loss:.4f} {progress.logs}", flush=True)


def train_and_score(
    name: str,
    corpus: list[Document],
    gold: list[Document],
    config: Config,
    *,
    split: str = "test",
    dev: list[Document] | None = None,
    labelled: Sequence[Document] = (),
    combine: Callable[[Recognizer], Recognizer] | None = None,
    inspect: Callable[[Recognizer], Cell] | None = None,
    score_also: Mapping[str, list[Document]] | None = None,
) -> Cell:
    """Train, resuming an interrupted run, and score the model.

    Args:
        name: of the cell; also of its folder in `runs/`.
        corpus: documents with distant spans.
        gold: documents to score on.
        config: all settings of the run.
        split: the name under which the scores are stored: `test` or `dev`.
        dev: documents with human labels that choose the weights.
        labelled: documents whose human labels are learnt from.
        combine: return the model with a gazetteer; its scores are stored as `with_gazetteer`.
        inspect: return further values to store.
        score_also: further documents to score on, by the name under which the scores are stored.
    """
    folder = RUNS / name.replace(" ", "-")
    resumed, start = folder.exists(), time.process_time()
    result = run_training(name, corpus, config, labelled=labelled, dev=dev, output=folder, resume=True)
    cpu_seconds = None if resumed else round(time.process_time() - start, 1)
    found: Cell = {
        "seconds": round(sum(progress.seconds for progress in result.history), 1),
        "cpu_seconds": cpu_seconds,
        "steps": result.steps,
        "best_step": result.best_step,
        "settings": changed_settings(config),
        split: score_on(gold, result.recognizer),
    }
    if result.unlabelled_share is not None:
        found["unlabelled"] = round(result.unlabelled_share, 4)
    for other, more in (score_also or {}).items():
        found[other] = score_on(more, result.recognizer)
    if combine is not None:
        found["with_gazetteer"] = score_on(gold, combine(result.recognizer))
    if inspect is not None:
        found |= inspect(result.recognizer)
    shutil.rmtree(folder)
    return found


def changed_settings(config: Config, preset: str = "default") -> dict[str, Any]:
    """Return the settings that differ from those of a preset, by their full names."""
    usual = _flat(load_config(preset).as_dict())
    changed = {name: value for name, value in _flat(config.as_dict()).items() if value != usual[name]}
    found: dict[str, Any] = json.loads(json.dumps(changed).replace(str(_ROOT), "MPROTO_DATA"))
    return found


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def score_on(gold: list[Document], recognizer: Recognizer) -> Cell:
    """Predict entities in the bare text of documents and score them."""
    return scores(gold, recognizer.predict([document.bare() for document in gold]))


def scores(gold: Iterable[Document], predicted: Iterable[Document]) -> Cell:
    """Return the figures to store: strict scores, Loc. and Cls. F1, and F1 by type, as shares."""
    found = score(zip(gold, predicted, strict=True)).as_dict()
    return {
        **{key: round(found["overall"][key], 6) for key in ("precision", "recall", "f1")},
        "loc_f1": round(found["loc"]["f1"], 6),
        "cls_f1": round(found["cls"]["f1"], 6),
        "types": {label: round(counts["f1"], 6) for label, counts in found["types"].items()},
    }


def percent(cell: Cell, split: str = "test") -> dict[str, float]:
    """Return F1, precision and recall of a cell, in percent."""
    return {key: round(100 * cell[split][key], 4) for key in ("f1", "precision", "recall")}


def show(cells: Sequence[Cell], split: str = "test", *, digits: int = 1, note: str = "") -> str:
    """Write the mean of cells that differ in their seeds as `F1 (P / R)`; `not run` without any."""
    if not cells:
        return "not run"
    values = [percent(cell, split) for cell in cells]
    return show_scores(*(mean(one[key] for one in values) for key in ("f1", "precision", "recall")), digits, note)


def show_scores(f1: float, precision: float, recall: float, digits: int = 1, note: str = "") -> str:
    return f"{f1:.2f} ({precision:.{digits}f} / {recall:.{digits}f}{note})"
