"""The paper's table of M, the number of prototypes of each class.

    python -m experiments.number_of_prototypes [--numbers 1 3] [--data bc5cdr-1.0] [--render]

Models of M = 1 and 3 are drawn too (`features.py`).
Needs MPROTO_DATA.
"""

from __future__ import annotations

from experiments import systems
from experiments.arguments import arguments
from experiments.cells import Cell, documents, load, once, train_in_folder
from experiments.maps import word_map
from experiments.page import write_section
from mproto.config import load_config

ABOUT, MINUTES = "number of prototypes, M = 1 … 6", 10
DATA = ("bc5cdr-1.0", "conll03-1.0")
PUBLISHED = {
    1: ((75.74, 85.94, 80.52), (84.39, 79.27, 81.75)),
    2: ((77.36, 83.43, 80.28), (83.42, 79.27, 81.29)),
    3: ((77.53, 85.84, 81.47), (84.27, 80.79, 82.49)),
    4: ((76.78, 84.71, 80.55), (84.53, 80.10, 82.25)),
    5: ((73.52, 84.14, 78.47), (82.84, 77.96, 80.32)),
    6: ((76.09, 85.49, 80.52), (84.53, 79.55, 81.97)),
}
NOTE = """*The paper:* three are best on both data sets, five worst, two or three points below. *Here:* no number stands out:
F1 moves up and down with M by as much as it does with the seed, and one prototype is as good as any. One seed."""


def cell_name(number: int, data: str) -> str:
    return f"number_of_prototypes/{data}-{number}"


def cells() -> list[str]:
    return [cell_name(number, data) for number in PUBLISHED for data in DATA]


def cell(number: int, data: str) -> Cell:
    def run() -> Cell:
        config = load_config(settings=[*systems.budget(data, 0), f"mproto.prototypes={number}"])
        train, test = documents(data, "train"), documents(data, "test")
        return train_in_folder(
            f"M={number} {data}", train, None, test, config, word_map(data) if number in (1, 3) else None
        )

    return once(cell_name(number, data), run)


def render() -> str:
    rows = []
    for number, paper in PUBLISHED.items():
        shown = []
        for data, theirs in zip(DATA, paper, strict=True):
            found = load(cell_name(number, data))
            ours = "not run"
            if found:
                values = systems.overall(found)
                ours = f"{values['f1']:.2f} ({values['precision']:.1f} / {values['recall']:.1f})"
            shown += [ours, f"{theirs[2]:.2f} ({theirs[0]:.1f} / {theirs[1]:.1f})"]
        rows.append(f"| {number} | {' | '.join(shown)} |")
    header = f"| M | {' | '.join(f'{data}: F1 (P / R) | the paper' for data in DATA)} |"
    return "\n".join([NOTE, "", header, "|---|---|---|---|---|", *rows])


def main() -> None:
    parsed = arguments(__doc__, data=DATA, numbers=PUBLISHED)
    if not parsed.render:
        for number in parsed.numbers:
            for data in parsed.data:
                print(number, data, systems.overall(cell(number, data)), flush=True)
    write_section("Number of prototypes", render())


if __name__ == "__main__":
    main()
