"""A few sentences that people labelled beside the distant ones, and all of them: MProto and the plain tagger.

    python -m experiments.few_labels [--data conll03-1.0] [--methods mproto] [--numbers 20] [--render]

The paper leaves both for later (its Limitations). With 0 labelled sentences, and for the tagger with all, cells are those of
the main table. The sentences are the same for both methods, drawn at random. Needs MPROTO_DATA.
"""

from __future__ import annotations

import random

from experiments import systems
from experiments.arguments import arguments
from experiments.cells import Cell, documents, load, once, train_in_folder
from experiments.page import write_section

ABOUT, MINUTES = "a few labelled sentences beside distant labels, and all", 8
DATA = ("bc5cdr-0.2", "conll03-1.0")
METHODS = {"tagger": "plain tagger", "mproto": "MProto"}
ALL = "all"
NUMBERS = ("0", "5", "20", "100", ALL)
NOTE = """Strict F1 on test (precision / recall) with so many sentences of the training data labelled by people, beside the
distant labels of the others; *all*: by people alone. Seed 0. No labelled sentence is used for anything but training.
`python -m experiments.few_labels` makes this section."""


def cell_name(method: str, number: str, data: str) -> str:
    if number == "0":
        return systems.cell_name(method, data, 0)
    if number == ALL:
        if method == "tagger":
            return systems.cell_name("supervised", data, 0)
        return f"few_labels/{method}-{systems.corpus_of(data)}-{ALL}"
    return f"few_labels/{method}-{data}-{number}"


def cells() -> list[str]:
    return [cell_name(method, number, data) for method in METHODS for number in NUMBERS for data in DATA]


def cell(method: str, number: str, data: str) -> Cell:
    if number == "0":
        return systems.cell(method, data, 0)
    if number == ALL and method == "tagger":
        return systems.cell("supervised", data, 0)

    def run() -> Cell:
        corpus = documents(data, "train")
        places = list(range(len(corpus)))
        if number != ALL:
            places = sorted(random.Random(0).sample(places, int(number)))
        labelled = [corpus[place] for place in places]
        chosen = set(places)
        others = [document for place, document in enumerate(corpus) if place not in chosen]
        config = systems.config_of(method, data, 0)
        name = f"{number} labels {method} {data}"
        return train_in_folder(name, others, None, documents(data, "test"), config, labelled=labelled)

    return once(cell_name(method, number, data), run)


def render() -> str:
    rows = []
    for data in DATA:
        for method, title in METHODS.items():
            shown = []
            for number in NUMBERS:
                found = load(cell_name(method, number, data))
                values = systems.overall(found) if found else None
                figures = values and f"{values['f1']:.2f} ({values['precision']:.1f} / {values['recall']:.1f})"
                shown.append(figures or "not run")
            rows.append(f"| {data}, {title} | {' | '.join(shown)} |")
    return "\n".join([NOTE, "", f"| labelled sentences | {' | '.join(NUMBERS)} |", "|---|---|---|---|---|---|", *rows])


def main() -> None:
    parsed = arguments(__doc__, data=DATA, methods=METHODS, numbers=NUMBERS)
    if not parsed.render:
        for number in parsed.numbers:
            for method in parsed.methods:
                for data in parsed.data:
                    print(number, method, data, systems.overall(cell(method, number, data)), flush=True)
    write_section("Few labels", render())


if __name__ == "__main__":
    main()
