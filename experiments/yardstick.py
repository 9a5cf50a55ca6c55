"""The yardstick: the same encoder trained on human labels until its development score stops rising.

A share of the supervised score means little if the supervised model was stopped early. Here the
plain tagger is trained on human labels for 2, 4, 8, … epochs, each a run of its own with a whole
learning rate schedule. It has converged when twice the epochs raise the development F1 by less than
half a point. The run with the best development F1 is the yardstick: 100 % in every table.
"""

from __future__ import annotations

from statistics import mean

from experiments.cells import PRECISION, Cell, documents, load, once, percent, train_and_score
from experiments.command import run_command
from experiments.systems import with_human_labels
from mproto.config import load_config

ABOUT, MINUTES = "supervised score of the encoder, trained to convergence", 60
DATA = ("bc5cdr-1.0", "conll03-1.0", "wikigold", "ncbi-disease")
EPOCHS, CONVERGED = (2, 4, 8, 16, 32), 0.5
SEEDS = (0, 1, 2)
NOTE = """Test F1 of a plain tagger on human labels, MiniLM, by the number of epochs; development F1
in brackets. The row *converged* is the run with the best development F1. A longer run is not made
if twice the epochs gained less than half a point on the development data. 32 epochs are the most; on
Wikigold the development score still rose by 1.3 from 16 to 32."""


def cell_name(data: str, epochs: int, seed: int) -> str:
    return f"yardstick/{data}-{epochs}-{seed}"


def cells() -> list[str]:
    """Return the cells that are done, and the next one of each data set and seed that has not converged."""
    names = []
    for data in DATA:
        for seed in SEEDS:
            runs = _done(data, seed)
            known = len(runs) if has_converged(runs) else len(runs) + 1
            names += [cell_name(data, epochs, seed) for epochs in EPOCHS[:known]]
    return names


def cell(data: str, seed: int) -> Cell:
    """Run or load the cells of a data set and seed, with more and more epochs, and return the best."""
    runs: list[Cell] = []
    for epochs in EPOCHS:
        runs.append(once(cell_name(data, epochs, seed), lambda epochs=epochs: _run(data, epochs, seed)))
        if has_converged(runs):
            break
    return max(runs, key=_dev_f1)


def yardstick(data: str) -> float | None:
    """Return the test F1 that is 100 % for a data set, the mean over seeds, in percent; None if no seed is done."""
    best = [_best(data, seed) for seed in SEEDS]
    found = [percent(one)["f1"] for one in best if one]
    return mean(found) if found else None


def has_converged(runs: list[Cell]) -> bool:
    return len(runs) > 1 and _dev_f1(runs[-1]) < _dev_f1(runs[-2]) + CONVERGED


def _dev_f1(found: Cell) -> float:
    return percent(found, "dev")["f1"]


def _done(data: str, seed: int) -> list[Cell]:
    found = []
    for epochs in EPOCHS:
        if (one := load(cell_name(data, epochs, seed))) is None:
            break
        found.append(one)
    return found


def _best(data: str, seed: int) -> Cell | None:
    runs = _done(data, seed)
    return max(runs, key=_dev_f1) if has_converged(runs) or len(runs) == len(EPOCHS) else None


def _run(data: str, epochs: int, seed: int) -> Cell:
    settings = [f"training.epochs={epochs}", f"training.seed={seed}", PRECISION]
    dev = documents(data, "dev")
    found = train_and_score(
        f"yardstick {data} {epochs} {seed}",
        with_human_labels(documents(data, "train")),
        documents(data, "test"),
        load_config(settings=settings, method="tagger"),
        score_also={"dev": dev},
    )
    return found | {"epochs": epochs}


def render() -> str:
    rows = ["| epochs | " + " | ".join(DATA) + " |", "|---" * (1 + len(DATA)) + "|"]
    for epochs in EPOCHS:
        shown = []
        for data in DATA:
            done = [one for seed in SEEDS if (one := load(cell_name(data, epochs, seed)))]
            scores = [(percent(one)["f1"], _dev_f1(one)) for one in done]
            shown.append(f"{mean(t for t, _ in scores):.2f} ({mean(d for _, d in scores):.2f})" if scores else "")
        rows.append(f"| {epochs} | " + " | ".join(shown) + " |")
    best = [yardstick(data) for data in DATA]
    rows.append("| **converged** | " + " | ".join("not run" if f1 is None else f"**{f1:.2f}**" for f1 in best) + " |")
    seeds = {data: sum(_best(data, seed) is not None for seed in SEEDS) for data in DATA}
    note = "Seeds: " + ", ".join(f"{data} {count}" for data, count in seeds.items()) + "."
    return "\n".join([*rows, "", NOTE, note])


def main() -> None:
    run_command(__doc__, "Yardstick", render, cell, usual={"seed": [0]}, data=DATA, seed=SEEDS)


if __name__ == "__main__":
    main()
