"""What experiments share: the data, and cells that are run once."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto import Document, read_documents, score, train

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mproto import Recognizer
    from mproto.config import Config
    from mproto.training.loop import Progress

_ROOT = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data"))
DATA, DICTIONARIES = _ROOT / "datasets", _ROOT / "dictionaries"
RESULTS = Path(__file__).parent / "results"
RUNS = Path(__file__).parent / "runs"
"""Where unfinished cells keep their checkpoints."""
PRECISION = f"training.precision={os.environ.get('EXPERIMENTS_PRECISION', 'auto')}"
"""`bfloat16` takes three fifths of the time on processors that have it; each cell keeps what it was run with."""
SHOWN_EVERY = 25
BEFORE = (
    "mproto.beta=0.96",
    "mproto.shared_doubt=0",
    "mproto.labelled_share=0",
    "training.average=0",
    "shapes=false",
    "attention_dropout=0.1",
    "mproto.denoise_after=0.33",
    "mproto.solver=sinkhorn",
    "mproto.price=0.3333",
)
"""The defaults of the first experiments, where they have changed since."""
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


def load(name: str) -> Cell | None:
    """The result of a piece of work, if it is done."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def train_in_folder(
    name: str,
    corpus: list[Document],
    dev: list[Document] | None,
    test: list[Document],
    config: Config,
    look: Callable[[Recognizer], Cell] | None = None,
    labelled: Sequence[Document] = (),
    beside: Callable[[Recognizer], Recognizer] | None = None,
) -> Cell:
    """Train, going on from where an interrupted run was, and score the model on test.

    What `look` finds out about the model is kept as `seen`. Documents that are `labelled` are learnt from too. What
    `beside` makes of the model, by putting a gazetteer beside it, is scored as well, as `beside_terms`.
    """
    folder = RUNS / name.replace(" ", "-")

    def show(progress: Progress) -> None:
        if progress.step % SHOWN_EVERY == 0:
            print(f"{name} {progress.step}/{progress.steps} loss {progress.loss:.4f} {progress.logs}", flush=True)

    resumed, start = folder.exists(), time.process_time()
    result = train(corpus, labelled=labelled, dev=dev, config=config, output=folder, resume=True, on_step=show)
    recognizer, history = result.recognizer, result.history
    cpu_seconds = None if resumed else round(time.process_time() - start, 1)
    bare = [document.bare() for document in test]
    scores = score(zip(test, recognizer.predict(bare), strict=True))
    more = {} if look is None else {"seen": look(recognizer)}
    if beside is not None:
        more["beside_terms"] = score(zip(test, beside(recognizer).predict(bare), strict=True)).as_dict()
    shutil.rmtree(folder)
    settings = json.loads(json.dumps(config.as_dict()).replace(str(_ROOT), "MPROTO_DATA"))
    return {
        "cell": name,
        "seed": config.training.seed,
        "seconds": round(sum(progress.seconds for progress in history), 1),
        "cpu_seconds": cpu_seconds,
        "steps": len(history),
        "kept_step": max(progress.step for progress in history if progress.best),
        "test": scores.as_dict(),
        "config": settings,
        **more,
    }


def train_and_score(name: str, data: str, config: Config, split: str) -> Cell:
    """Train without development data, score the last model on a split, and say what it took."""

    def remember(progress: Progress) -> None:
        if progress.step % SHOWN_EVERY == 0:
            print(f"{name} {progress.step}/{progress.steps} loss {progress.loss:.4f} {progress.logs}", flush=True)

    start = time.perf_counter()
    result = train(documents(data, "train"), config=config, on_step=remember)
    recognizer, history = result.recognizer, result.history
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
