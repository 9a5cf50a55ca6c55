"""The paper's main table: every system on four data sets, with one encoder, one loop and one budget.

    python -m experiments.main_table                                        # whatever is not done yet
    python -m experiments.main_table --methods mproto mpu --data bc5cdr-0.2 --seeds 0 1 2
    python -m experiments.main_table --render                               # the table alone, from what is done

No human label is used to train or to choose anything, with two exceptions, which are the point of their rows: the fully
supervised model, and early stopping, which human development labels stop, as published. A finished cell is a JSON file in
results/main_table and is not run again; an interrupted one goes on from its last checkpoint. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
from statistics import mean
from typing import TYPE_CHECKING

from experiments.cells import DICTIONARIES, RESULTS, Cell, documents, load, once, require_data, train_in_folder
from experiments.page import write_section
from experiments.paper import published
from mproto import Gazetteer, annotate, score
from mproto.config import load_config

if TYPE_CHECKING:
    from mproto import Document
    from mproto.config import Config

DATA = {"bc5cdr-1.0": 2, "bc5cdr-0.2": 2, "conll03-kb": 1, "conll03-1.0": 1}
"""And their epochs: CoNLL03 has three times as many sentences."""
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
PRIORS = {
    "bc5cdr": {"Chemical": 0.0503131, "Disease": 0.0503834},
    "conll03": {"PER": 0.0314966, "LOC": 0.0376881, "ORG": 0.0354240, "MISC": 0.0155021},
}
WEIGHTS = {"bc5cdr": 28, "conll03": 15}
NOTE = """Strict F1 on test in percent (precision / recall). MiniLM (22 M parameters); the same encoder, batches, loop and
scoring for all: two epochs of BC5CDR or one of CoNLL03 (300 to 450 steps of 32 sentences), the last weights. With
three seeds, the mean, and the lowest and highest F1. *Of supervised*: the share of the fully supervised F1 that is
recovered. Beside stand the paper's own figures: BERT-base or BioBERT, tuned on each data set, weights chosen with human
labels. MPN, MPU and Conf-MPU are told the true priors; AutoNER, with a fifth of the dictionary, knows all its phrases,
though not their types. `python -m experiments.main_table` makes this page from `results/main_table`."""
STOPS = 10
"""Evaluations of early stopping, each on every fourth development sentence."""


def config_of(method: str, data: str, seed: int) -> Config:
    corpus = data.partition("-")[0]
    settings = [f"training.epochs={DATA[data]}", "training.min_steps=0", f"training.seed={seed}"]
    name = {"supervised": "tagger", "mproto+self-training": "self-training"}.get(method, method)
    if method in ("mpn", "mpu", "conf-mpu"):  # the constants of the publication, the priors known from human labels
        settings += [f"positive_unlabelled.priors.{type_}={prior}" for type_, prior in PRIORS[corpus].items()]
        settings.append(f"positive_unlabelled.weight={WEIGHTS[corpus]}")
    if method == "autoner" and data == "bc5cdr-0.2":
        settings.append(f"autoner.phrases={DICTIONARIES / corpus}")
    if method == "early-stopping":
        steps = load_config().early_stopping.share * DATA[data] * len(documents(data, "train")) / 32
        settings.append(f"training.evaluate_every={int(steps / STOPS)}")
    if method == "mproto+self-training":
        settings.append("self_training.on=mproto")
    return load_config(settings=settings, method=name)


def run(method: str, data: str, seed: int) -> Cell:
    if method == "dictionary":
        return look_up(data)
    train = documents(data, "train")
    if method == "supervised":
        train = [document.with_spans(document.gold or (), None) for document in train]
    dev = documents(data, "dev")[::4] if method == "early-stopping" else None
    return train_in_folder(
        f"{method} {data} {seed}", train, dev, documents(data, "test"), config_of(method, data, seed)
    )


def look_up(data: str) -> Cell:
    """The dictionary's own labels of the test sentences."""
    corpus, _, fraction = data.partition("-")
    gazetteer = Gazetteer.load(DICTIONARIES / corpus).head(float(fraction))
    gold: list[Document] = documents(data, "test")
    found = annotate([document.bare() for document in gold], gazetteer, matching="paper")
    return {"seconds": 0, "steps": 0, "test": score(zip(gold, found, strict=True)).as_dict()}


def same_as(method: str, data: str) -> str:
    """The data set of the same model's cell: human labels are the same however many terms a dictionary has."""
    if method != "supervised":
        return data
    return "bc5cdr-1.0" if data.startswith("bc5cdr") else "conll03-1.0"


def cell_name(method: str, data: str, seed: int) -> str:
    return f"main_table/{method}-{same_as(method, data)}-{seed}"


def exists(method: str, data: str) -> bool:
    return not (method == "dictionary" and data == "conll03-kb")  # how those labels were made was never published


def render() -> str:
    """The table of each data set, from the cells that are done."""
    parts = [NOTE]
    for data, title in TITLES.items():
        rows = []
        full = _found("supervised", data)
        supervised = mean(f1s) if (f1s := [_overall(cell)["f1"] for cell in full]) else None
        for method, name in METHODS.items():
            cells = _found(method, data)
            if cells or published(method, data):
                rows.append(_row(method, name, data, cells, supervised))
        header = "| | F1 (P / R) | seeds | of supervised | the paper | of supervised there | minutes |"
        parts.append("\n".join([f"### {title}", "", header, "|---|---|---|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _found(method: str, data: str) -> list[Cell]:
    return [cell for seed in range(3) if (cell := load(cell_name(method, data, seed))) is not None]


def _overall(cell: Cell) -> dict[str, float]:
    return {key: 100 * value for key, value in cell["test"]["overall"].items()}


def _row(method: str, name: str, data: str, cells: list[Cell], supervised: float | None) -> str:
    paper, most = published(method, data), published("supervised", data)
    assert most is not None
    theirs = ["", ""]
    if paper:
        theirs = [f"{paper.f1:.2f} ({paper.precision:.1f} / {paper.recall:.1f})", f"{100 * paper.f1 / most.f1:.1f} %"]
    if not cells:
        return f"| {name} | not run | | | {theirs[0]} | {theirs[1]} | |"
    scores = [_overall(cell) for cell in cells]
    f1, precision, recall = (mean(score[key] for score in scores) for key in ("f1", "precision", "recall"))
    spread = f"; {min(s['f1'] for s in scores):.2f}–{max(s['f1'] for s in scores):.2f}" if len(scores) > 1 else ""
    share = f"{100 * f1 / supervised:.1f} %" if supervised else ""
    minutes = mean(cell["seconds"] for cell in cells) / 60
    figures = f"{f1:.2f} ({precision:.1f} / {recall:.1f}{spread})"
    return f"| {name} | {figures} | {len(cells)} | {share} | {theirs[0]} | {theirs[1]} | {minutes:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--render", action="store_true", help="write the table from what is done")
    parsed = parser.parse_args()
    if not parsed.render:
        require_data()
        for seed in parsed.seeds:
            for method in parsed.methods:
                for data in filter(lambda data: exists(method, data), parsed.data):
                    name = cell_name(method, data, seed)
                    overall = _overall(once(name, lambda: run(method, same_as(method, data), seed)))  # noqa: B023
                    print(name, *(f"{overall[key]:.2f}" for key in ("f1", "precision", "recall")), flush=True)
    write_section(RESULTS.parent / "RESULTS.md", "Main table", render())


if __name__ == "__main__":
    main()
