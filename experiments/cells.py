"""What experiments share: the data, and cells that are run once."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto import Document, read_documents, score, train

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto.config import Config
    from mproto.training.loop import Progress

DATA = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data")) / "datasets"
RESULTS = Path(__file__).parent / "results"
SHOWN_EVERY = 25
Cell = dict[str, Any]


def require_data() -> None:
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there: set MPROTO_DATA")


def documents(data: str, split: str) -> list[Document]:
    return list(read_documents(DATA / data / f"{split}.jsonl"))


def once(name: str, work: Callable[[], Cell]) -> Cell:
    """The result of a piece of work: kept under `results/NAME.json`, and not worked out again where that is there."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        result = work()
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(result, indent=1) + "\n")
        partial.rename(path)
    found: Cell = json.loads(path.read_text())
    return found


def train_and_score(name: str, data: str, config: Config, split: str) -> Cell:
    """Train without development data, score the last model on a split, and say what it took."""
    history: list[Progress] = []

    def remember(progress: Progress) -> None:
        history.append(progress)
        if progress.step % SHOWN_EVERY == 0:
            print(f"{name} {progress.step}/{progress.steps} loss {progress.loss:.4f} {progress.logs}", flush=True)

    start = time.perf_counter()
    recognizer = train(documents(data, "train"), config=config, on_progress=remember)
    seconds = time.perf_counter() - start
    gold = documents(data, split)
    scores = score(zip(gold, recognizer.predict(gold), strict=True))
    kept = [progress.logs["kept"] for progress in history if "kept" in progress.logs]
    return {
        "cell": name,
        "data": data,
        "seed": config.training.seed,
        "seconds": round(seconds, 1),
        "steps": len(history),
        "words_per_second": round(sum(p.words for p in history) / sum(p.seconds for p in history)),
        split: scores.as_dict(),
        "kept": [
            round(sum(kept[i : i + SHOWN_EVERY]) / len(kept[i : i + SHOWN_EVERY]), 4)
            for i in range(0, len(kept), SHOWN_EVERY)
        ],
        "config": config.as_dict(),
    }


def figures(result: Cell, split: str) -> str:
    overall = result[split]["overall"]
    return " ".join(f"{100 * overall[key]:.2f}" for key in ("f1", "precision", "recall"))
