"""A few human-labelled sentences next to distant labels, and human labels alone.

The paper leaves both for later (its Limitations). The cells without labelled sentences, and the
tagger's cell with human labels alone, are those of the main table. MProto and the plain tagger get the same
sentences, drawn at random.
"""

from __future__ import annotations

import random

from experiments import systems
from experiments.cells import Cell, documents, load_all, once, show, train_and_score
from experiments.command import run_command

ABOUT, MINUTES = "a few human-labelled sentences next to distant labels, and all", 8
DATA = ("bc5cdr-0.2", "conll03-1.0")
METHODS = {"tagger": "plain tagger", "mproto": "MProto"}
ALL = "all"
NUMBERS = ("0", "5", "20", "100", ALL)
NOTE = """Strict F1 on test (precision / recall). So many sentences of the training data have human
labels, the others distant ones; *all*: human labels alone. Seed 0. Labelled sentences are used for
training only. The tagger with human labels alone was stopped after one or two epochs (README.md)."""


def cell_name(method: str, number: str, data: str) -> str:
    if number == "0":
        return systems.cell_name(method, data)
    if number == ALL:
        if method == "tagger":
            return systems.cell_name("supervised", data)
        return f"few_labels/{method}-{systems.corpus_of(data)}-{ALL}"
    return f"few_labels/{method}-{data}-{number}"


def cells() -> list[str]:
    return [cell_name(method, number, data) for method in METHODS for number in NUMBERS for data in DATA]


def cell(number: str, method: str, data: str) -> Cell | None:
    if number == "0":
        return systems.cell(method, data)
    if number == ALL and method == "tagger":
        return systems.cell("supervised", data)

    def run() -> Cell:
        corpus = documents(data, "train")
        places = range(len(corpus)) if number == ALL else random.Random(0).sample(range(len(corpus)), int(number))
        chosen = set(places)
        return train_and_score(
            f"{number} labels {method} {data}",
            [document for place, document in enumerate(corpus) if place not in chosen],
            documents(data, "test"),
            systems.config_of(method, data, 0),
            labelled=[corpus[place] for place in sorted(chosen)],
        )

    return once(cell_name(method, number, data), run)


def render() -> str:
    rows = []
    for data in DATA:
        for method, title in METHODS.items():
            shown = [show(load_all([cell_name(method, number, data)])) for number in NUMBERS]
            rows.append(f"| {data}, {title} | {' | '.join(shown)} |")
    return "\n".join([NOTE, "", f"| labelled sentences | {' | '.join(NUMBERS)} |", "|---|---|---|---|---|---|", *rows])


def main() -> None:
    run_command(__doc__, "Few labels", render, cell, numbers=NUMBERS, methods=METHODS, data=DATA)


if __name__ == "__main__":
    main()
