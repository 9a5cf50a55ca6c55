"""First models on BC5CDR with the whole dictionary: default and paper preset, a plain tagger, and the fully supervised one.

    python experiments/first_model.py                  # all cells that are not done yet
    python experiments/first_model.py default paper    # these

Two epochs each, MiniLM, no development data: the last model is taken. A finished cell is a JSON file in results/first_model
and is not run again. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto import Document, read_documents, score, train
from mproto.config import load_config

if TYPE_CHECKING:
    from mproto.training.loop import Progress

DATA = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data")) / "datasets"
RESULTS = Path(__file__).parent / "results" / "first_model"
CELLS: dict[str, dict[str, Any]] = {
    "default": {"data": "bc5cdr-1.0", "settings": []},
    "paper": {"data": "bc5cdr-1.0", "preset": "paper", "settings": []},
    "tagger": {"data": "bc5cdr-1.0", "method": "tagger", "settings": []},
    "supervised": {"data": "bc5cdr-fully", "method": "tagger", "settings": []},
}
SHOWN_EVERY = 25


def run(name: str, seed: int) -> dict[str, Any]:
    cell = CELLS[name]
    settings = ["training.epochs=2", "training.min_steps=0", f"training.seed={seed}", *cell["settings"]]
    config = load_config(cell.get("preset", "default"), settings=settings, method=cell.get("method"))
    history: list[Progress] = []

    def remember(progress: Progress) -> None:
        history.append(progress)
        if progress.step % SHOWN_EVERY == 0:
            print(f"{name} {progress.step}/{progress.steps} loss {progress.loss:.4f} {progress.logs}", flush=True)

    start = time.perf_counter()
    recognizer = train(documents(cell["data"], "train"), config=config, on_progress=remember)
    seconds = time.perf_counter() - start
    test = documents(cell["data"], "test")
    scores = score(zip(test, recognizer.predict(test), strict=True))
    kept = [progress.logs["kept"] for progress in history if "kept" in progress.logs]
    return {
        "cell": name,
        "data": cell["data"],
        "seed": seed,
        "seconds": round(seconds, 1),
        "steps": len(history),
        "words_per_second": round(sum(p.words for p in history) / sum(p.seconds for p in history)),
        "test": scores.as_dict(),
        "kept": [
            round(sum(kept[i : i + SHOWN_EVERY]) / len(kept[i : i + SHOWN_EVERY]), 4)
            for i in range(0, len(kept), SHOWN_EVERY)
        ],
        "config": config.as_dict(),
    }


def documents(data: str, split: str) -> list[Document]:
    return list(read_documents(DATA / data / f"{split}.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", default=list(CELLS), help=", ".join(CELLS))
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there: set MPROTO_DATA")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in parsed.cells:
        path = RESULTS / f"{name}-{parsed.seed}.json"
        if not path.exists():
            result = run(name, parsed.seed)
            path.write_text(json.dumps(result, indent=1) + "\n")
        result = json.loads(path.read_text())
        overall = result["test"]["overall"]
        figures = " ".join(f"{100 * overall[key]:.2f}" for key in ("f1", "precision", "recall"))
        print(
            f"{name:12s} seed {result['seed']}: F1 P R {figures}  ({result['seconds']:.0f} s, {result['steps']} steps)"
        )


if __name__ == "__main__":
    main()
