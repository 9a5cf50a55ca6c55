"""How well the share of unlabelled entity words is estimated without human labels, beside the truth.

    python -m experiments.shares

Only the first part of training, which ends with the estimate; the cells at hand are those of an earlier estimate, from
hidden terms. The truth comes from the human labels of the training sentences, which nothing but this comparison looks at.
A finished cell is a JSON file in results/shares and is not run again.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from experiments.cells import BEFORE, Cell, documents, once, require_data
from mproto import Document, train
from mproto.config import load_config

if TYPE_CHECKING:
    from mproto.training.loop import Progress

DATA = {"bc5cdr-1.0": 2, "bc5cdr-0.2": 2, "conll03-1.0": 1}


class EstimatedError(Exception):
    """The estimate is there; the rest of training is not needed."""


def truth(corpus: list[Document]) -> dict[str, float]:
    """The share of words without a distant label that are in a human one, of all and by type."""
    other, found = 0, dict.fromkeys(["share", *{f"share.{s.label}" for d in corpus for s in d.gold or ()}], 0)
    for document in corpus:
        labelled = {i for start, end, _ in document.word_spans for i in range(start, end)}
        other += document.word_count - len(labelled)
        for start, end, label in document.gold_word_spans or ():
            missed = len(set(range(start, end)) - labelled)
            found["share"] += missed
            found[f"share.{label}"] += missed
    return {name: count / other for name, count in found.items()}


def run(data: str, seed: int) -> Cell:
    settings = [
        *BEFORE,
        f"training.epochs={DATA[data]}",
        "training.min_steps=0",
        f"training.seed={seed}",
        "mproto.beta=auto",
    ]
    corpus, estimate = documents(data, "train"), {}

    def watch(progress: Progress) -> None:
        nonlocal estimate
        if "share" in progress.logs:
            estimate = {name: value for name, value in progress.logs.items() if name.startswith("share")}
            raise EstimatedError

    with suppress(EstimatedError):
        train(corpus, config=load_config(settings=settings), on_step=watch)
    return {"data": data, "seed": seed, "estimate": estimate, "truth": truth(corpus)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parsed = parser.parse_args()
    require_data()
    for seed in parsed.seeds:
        for data in parsed.data:
            result = once(f"shares/{data}-{seed}", lambda: run(data, seed))  # noqa: B023
            figures = (
                f"{n} {100 * result['estimate'][n]:.1f} ({100 * t:.1f})" for n, t in sorted(result["truth"].items())
            )
            print(f"{data} seed {seed}: % estimated (true): {', '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
