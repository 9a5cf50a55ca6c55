"""The paper's pictures of features: words and prototypes of models with one and with three prototypes of each class.

    python -m experiments.features [--render]

Test words with their human classes, those of O left out as in the paper. The models are those of the tables. Needs
MPROTO_DATA.
"""

from __future__ import annotations

from experiments import number_of_prototypes
from experiments.arguments import arguments
from experiments.cells import load
from experiments.figures import save_map
from experiments.page import write_section

ABOUT, MINUTES = "t-SNE of words and prototypes, M = 1 and 3", 10
NUMBERS = (1, 3)
NOTE = """*The paper:* words of a class form several groups even with one prototype, and with three each group has one of its
own. *Here:* there are groups too, many and small at the rim of each class, with one prototype as with three; the three lie
apart, each in a part of its class (PER, LOC, ORG, Disease), and side by side where a class is round (Chemical)."""


def cells() -> list[str]:
    return [number_of_prototypes.cell_name(number, data) for number in NUMBERS for data in number_of_prototypes.DATA]


def render() -> str:
    parts = [NOTE]
    for data in number_of_prototypes.DATA:
        for number in NUMBERS:
            found = load(number_of_prototypes.cell_name(number, data))
            if found and "seen" in found:
                served = ", ".join(f"{name} {count:,}" for name, count in found["seen"]["served"].items())
                parts.append(f"{data}, M = {number}; words that each prototype serves: {served}.")
                parts.append(save_map(f"features-{data}-{number}", found["seen"]))
    return "\n\n".join(parts)


def main() -> None:
    parsed = arguments(__doc__)
    if not parsed.render:
        for number in NUMBERS:
            for data in number_of_prototypes.DATA:
                number_of_prototypes.cell(number, data)
    write_section("Words and prototypes", render())


if __name__ == "__main__":
    main()
