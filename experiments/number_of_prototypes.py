"""The paper's table of M, the number of prototypes per class.

The runs with M = 1 and 3 also draw the maps of `features`.
"""

from __future__ import annotations

from experiments import systems
from experiments.cells import Cell, documents, load_all, once, show, show_scores, train_and_score
from experiments.command import run_command
from experiments.maps import draw_map
from mproto.config import load_config

ABOUT, MINUTES = "number of prototypes per class, M = 1 … 6", 10
DATA = ("bc5cdr-1.0", "conll03-1.0")
MAPPED = (1, 3)
PUBLISHED = {
    1: ((75.74, 85.94, 80.52), (84.39, 79.27, 81.75)),
    2: ((77.36, 83.43, 80.28), (83.42, 79.27, 81.29)),
    3: ((77.53, 85.84, 81.47), (84.27, 80.79, 82.49)),
    4: ((76.78, 84.71, 80.55), (84.53, 80.10, 82.25)),
    5: ((73.52, 84.14, 78.47), (82.84, 77.96, 80.32)),
    6: ((76.09, 85.49, 80.52), (84.53, 79.55, 81.97)),
}
NOTE = """*The paper:* three are best on both data sets and five are worst, two or three points
below. *Here:* no number stands out. F1 varies with M as much as it does with the seed, and one
prototype is as good as any. One seed; test."""


def cell_name(number: int, data: str) -> str:
    return f"number_of_prototypes/{data}-{number}"


def map_name(number: int, data: str) -> str:
    """Return the name of the figure that a run with this M draws."""
    return f"features-{data}-{number}"


def cells() -> list[str]:
    return [cell_name(number, data) for number in PUBLISHED for data in DATA]


def cell(number: int, data: str) -> Cell:
    def run() -> Cell:
        return train_and_score(
            f"M={number} {data}",
            documents(data, "train"),
            documents(data, "test"),
            load_config(settings=[*systems.budget(data, 0), f"mproto.prototypes={number}"]),
            inspect=draw_map(map_name(number, data), data) if number in MAPPED else None,
        )

    return once(cell_name(number, data), run)


def render() -> str:
    rows = []
    for number, paper in PUBLISHED.items():
        shown = []
        for data, (precision, recall, f1) in zip(DATA, paper, strict=True):
            shown += [show(load_all([cell_name(number, data)])), show_scores(f1, precision, recall)]
        rows.append(f"| {number} | {' | '.join(shown)} |")
    header = f"| M | {' | '.join(f'{data}: F1 (P / R) | the paper' for data in DATA)} |"
    return "\n".join([NOTE, "", header, "|---|---|---|---|---|", *rows])


def main() -> None:
    run_command(__doc__, "Number of prototypes", render, cell, numbers=PUBLISHED, data=DATA)


if __name__ == "__main__":
    main()
