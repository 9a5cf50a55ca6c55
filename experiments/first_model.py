"""First models on BC5CDR with the whole dictionary: default and paper preset, a plain tagger, and the fully supervised
one.

    python -m experiments.first_model                  # all cells that are not done yet
    python -m experiments.first_model default paper    # these

Two epochs each, MiniLM, no development data: the last model is taken. A finished cell is a JSON file in
results/first_model and is not run again. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
from typing import Any

from experiments.cells import BEFORE, Cell, figures, once, require_data, train_and_score
from mproto.config import load_config

CELLS: dict[str, dict[str, Any]] = {
    "default": {"data": "bc5cdr-1.0"},
    "paper": {"data": "bc5cdr-1.0", "preset": "paper"},
    "tagger": {"data": "bc5cdr-1.0", "method": "tagger"},
    "supervised": {"data": "bc5cdr-fully", "method": "tagger"},
}


def run(name: str, seed: int) -> Cell:
    cell = CELLS[name]
    settings = ["training.epochs=2", "training.min_steps=0", f"training.seed={seed}"]
    settings += BEFORE[1:] if name == "paper" else BEFORE
    config = load_config(cell.get("preset", "default"), settings=settings, method=cell.get("method"))
    return train_and_score(name, cell["data"], config, "test")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", default=list(CELLS), help=", ".join(CELLS))
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args()
    require_data()
    for name in parsed.cells:
        result = once(f"first_model/{name}-{parsed.seed}", lambda: run(name, parsed.seed))  # noqa: B023
        print(
            f"{name:12s} seed {result['seed']}: F1 P R {figures(result, 'test')}  "
            f"({result['seconds']:.0f} s, {result['steps']} steps)"
        )


if __name__ == "__main__":
    main()
