"""The paper's main table: every system on four data sets.

    python -m experiments.main_table                                        # whatever is not done yet
    python -m experiments.main_table --methods mproto mpu --data bc5cdr-0.2 --seeds 0 1 2
    python -m experiments.main_table --render                               # the table alone, from what is done

Cells are those of `systems.py`. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
from statistics import mean
from typing import TYPE_CHECKING

from experiments import systems
from experiments.cells import require_data
from experiments.page import write_section
from experiments.paper import published
from experiments.systems import overall

if TYPE_CHECKING:
    from experiments.cells import Cell

ABOUT, MINUTES = "main table: every system on four data sets", 10
TITLES = {
    "bc5cdr-1.0": "BC5CDR, whole dictionary",
    "bc5cdr-0.2": "BC5CDR, a fifth of the dictionary",
    "conll03-kb": "CoNLL03, knowledge base",
    "conll03-1.0": "CoNLL03, whole dictionary",
}
METHODS = {
    "dictionary": "dictionary match",
    "supervised": "fully supervised (human labels)",
    "tagger": "plain tagger",
    "early-stopping": "early stopping (human development labels)",
    "negative-sampling": "negative sampling",
    "negative-sampling-span": "negative sampling, spans",
    "autoner": "AutoNER",
    "mpn": "MPN",
    "mpu": "MPU",
    "conf-mpu": "Conf-MPU",
    "self-training": "tagger, then self-training (BOND)",
    "mproto": "**MProto, default**",
    "mproto+self-training": "MProto, then self-training",
}
NOTE = """Strict F1 on test in percent (precision / recall). MiniLM (22 M parameters); the same encoder, batches, loop
and scoring for all: two epochs of BC5CDR or one of CoNLL03 (300 to 450 steps of 32 sentences), the last weights. With
three seeds, the mean, and the lowest and highest F1. *Of supervised*: the share of the fully supervised F1 that is
recovered. Beside stand the paper's own figures: BERT-base or BioBERT, tuned on each data set, weights chosen with human
labels. MPN, MPU and Conf-MPU are told the true priors; AutoNER, with a fifth of the dictionary, knows all its phrases,
though not their types. Conf-MPU learns slowly and would gain from longer training (LOG.md). MProto is trained in
bfloat16, and so are the last two seeds with human labels, the others in float32; self-training on top of it is of an
earlier recipe (LOG.md). Minutes are those of training on one core. `python -m experiments.main_table` makes this
section."""


def cells() -> list[str]:
    """The names of all cells with one seed."""
    return list(
        dict.fromkeys(systems.cell_name(m, data, 0) for m in METHODS for data in TITLES if systems.exists(m, data))
    )


def render() -> str:
    """The table of each data set, from the cells that are done."""
    parts = [NOTE]
    for data, title in TITLES.items():
        full = [overall(cell)["f1"] for cell in _found("supervised", data)]
        rows = [
            _row(method, name, data, found, mean(full) if full else None)
            for method, name in METHODS.items()
            if (found := _found(method, data)) or published(method, data)
        ]
        header = "| | F1 (P / R) | seeds | of supervised | the paper | of supervised there | minutes |"
        parts.append("\n".join([f"### {title}", "", header, "|---|---|---|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _found(method: str, data: str) -> list[Cell]:
    return [cell for seed in range(3) if (cell := systems.found(method, data, seed)) is not None]


def _row(method: str, name: str, data: str, found: list[Cell], supervised: float | None) -> str:
    paper, most = published(method, data), published("supervised", data)
    assert most is not None
    theirs = ["", ""]
    if paper:
        theirs = [f"{paper.f1:.2f} ({paper.precision:.1f} / {paper.recall:.1f})", f"{100 * paper.f1 / most.f1:.1f} %"]
    if not found:
        why = "not run" if systems.exists(method, data) else "never published"
        return f"| {name} | {why} | | | {theirs[0]} | {theirs[1]} | |"
    scores = [overall(cell) for cell in found]
    f1, precision, recall = (mean(score[key] for score in scores) for key in ("f1", "precision", "recall"))
    spread = f"; {min(s['f1'] for s in scores):.2f}–{max(s['f1'] for s in scores):.2f}" if len(scores) > 1 else ""
    share = f"{100 * f1 / supervised:.1f} %" if supervised else ""
    seconds = [cell.get("cpu_seconds") or cell["seconds"] for cell in found if not cell.get("busy")]
    minutes = f"{mean(seconds) / 60:.0f}" if seconds else ""
    figures = f"{f1:.2f} ({precision:.1f} / {recall:.1f}{spread})"
    return f"| {name} | {figures} | {len(found)} | {share} | {theirs[0]} | {theirs[1]} | {minutes} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--data", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--render", action="store_true", help="write the table from what is done")
    parsed = parser.parse_args()
    if not parsed.render:
        require_data()
        for seed in parsed.seeds:
            for method in parsed.methods:
                for data in parsed.data:
                    if systems.exists(method, data):
                        scores = overall(systems.cell(method, data, seed))
                        print(method, data, seed, *(f"{value:.2f}" for value in scores.values()), flush=True)
    write_section("Main table", render())


if __name__ == "__main__":
    main()
