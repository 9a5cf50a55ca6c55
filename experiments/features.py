"""The paper's maps of words and prototypes, with one and with three prototypes per class.

Words are shown with their human classes, without those of O, as in the paper. The runs of
`number_of_prototypes` draw the maps; no other run does.
"""

from __future__ import annotations

from experiments import number_of_prototypes
from experiments.cells import load
from experiments.command import run_command
from experiments.figures import link
from experiments.number_of_prototypes import DATA, MAPPED, cell_name, map_name

ABOUT, MINUTES = "t-SNE of words and prototypes, M = 1 and 3", 10
NOTE = """*The paper:* words of a class form several groups even with one prototype, and with three,
each group has its own. *Here:* there are many small groups at the rim of each class, with one
prototype as with three. The three prototypes lie apart, each in a part of its class (PER, LOC, ORG,
Disease), or close together where a class is round (Chemical)."""


def cells() -> list[str]:
    return [cell_name(number, data) for number in MAPPED for data in DATA]


def render() -> str:
    parts = [NOTE]
    for data in DATA:
        for number in MAPPED:
            if found := load(cell_name(number, data)):
                served = ", ".join(f"{name} {count:,}" for name, count in found["served"].items())
                parts.append(f"{data}, M = {number}; number of words that each prototype serves: {served}.")
                parts.append(link(map_name(number, data)))
    return "\n\n".join(parts)


def main() -> None:
    run_command(__doc__, "Words and prototypes", render, number_of_prototypes.cell, numbers=MAPPED, data=DATA)


if __name__ == "__main__":
    main()
