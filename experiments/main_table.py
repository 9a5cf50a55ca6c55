"""The paper's main table: every system on four data sets.

python -m experiments.main_table                                        # all cells of seed 0 that are not done
python -m experiments.main_table --methods mproto mpu --data bc5cdr-0.2 --seeds 0 1 2
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

from experiments import systems
from experiments.cells import percent, show, show_scores
from experiments.command import run_command
from experiments.paper import published

if TYPE_CHECKING:
    from experiments.cells import Cell

ABOUT, MINUTES = "every system on four data sets", 10
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
}
NOTE = """Strict F1 on test in percent (precision / recall). All systems have the same encoder
(MiniLM, 22 M parameters), batches, training loop and scoring. They train for two epochs on BC5CDR
or one on CoNLL03 (300 to 450 steps of 32 sentences). The weights are averaged over the last fifth of
training; only early stopping selects them. With three seeds, the table has the mean, and the lowest
and highest F1.

*Of supervised* is the share of the fully supervised F1. **These shares are too high**: the
supervised tagger was stopped after the same one or two epochs. Trained to convergence, it reaches
82.0 on BC5CDR (8 epochs) and 88.7 on CoNLL03 (4 epochs); README.md has the shares of that. *The
paper* has BERT-base or BioBERT, tuned on each data set, with weights selected on human labels.

MPN, MPU and Conf-MPU are given the true priors. AutoNER, with a fifth of the dictionary, knows all
its phrases, though not their types. Conf-MPU learns slowly and would gain from longer training
(archive/LOG.md). MProto was trained in bfloat16, and so were the last two seeds with human labels;
the others in float32. *Minutes* are those of training on one core."""


def cells() -> list[str]:
    """Return the names of all cells of seed 0."""
    return list(
        dict.fromkeys(systems.cell_name(m, data) for m in METHODS for data in TITLES if systems.exists(m, data))
    )


def render() -> str:
    parts = [NOTE]
    for data, title in TITLES.items():
        full = systems.done("supervised", data)
        supervised = mean(percent(cell)["f1"] for cell in full) if full else None
        rows = [
            _row(method, name, data, found, supervised)
            for method, name in METHODS.items()
            if (found := systems.done(method, data)) or published(method, data)
        ]
        header = "| | F1 (P / R) | seeds | of supervised | the paper | of supervised there | minutes |"
        parts.append("\n".join([f"### {title}", "", header, "|---|---|---|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _row(method: str, name: str, data: str, found: list[Cell], supervised: float | None) -> str:
    paper, most = published(method, data), published("supervised", data)
    assert most is not None
    theirs = ["", ""]
    if paper:
        theirs = [show_scores(*paper), f"{100 * paper.f1 / most.f1:.1f} %"]
    if not found:
        why = "not run" if systems.exists(method, data) else "never published"
        return f"| {name} | {why} | | | {theirs[0]} | {theirs[1]} | |"
    f1 = [percent(cell)["f1"] for cell in found]
    figures = show(found, note=f"; {min(f1):.2f}–{max(f1):.2f}" if len(f1) > 1 else "")
    share = f"{100 * mean(f1) / supervised:.1f} %" if supervised else ""
    seconds = [cell.get("cpu_seconds") or cell["seconds"] for cell in found if not cell.get("busy")]
    minutes = f"{mean(seconds) / 60:.0f}" if seconds else ""
    return f"| {name} | {figures} | {len(found)} | {share} | {theirs[0]} | {theirs[1]} | {minutes} |"


def main() -> None:
    run_command(
        __doc__,
        "Main table",
        render,
        systems.cell,
        usual={"seeds": [0]},
        methods=METHODS,
        data=TITLES,
        seeds=systems.SEEDS,
    )


if __name__ == "__main__":
    main()
