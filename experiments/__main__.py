"""List the experiments, with the cells that are done and the time that the others take."""

from __future__ import annotations

import sys
from importlib import import_module

from experiments.cells import RESULTS

NAMES = (
    "default",
    "yardstick",
    "development",
    "relabelled",
    "main_table",
    "own_labels",
    "annotation_quality",
    "ablation",
    "number_of_prototypes",
    "coverage",
    "features",
    "over_training",
    "leak",
    "few_labels",
    "recipe",
    "limits",
)


def main() -> None:
    if sys.argv[1:] != ["list"]:
        sys.exit("usage: python -m experiments list, or python -m experiments.NAME --help")
    print(f"{'python -m experiments.NAME':28s} {'done':>9s} {'minutes left':>13s}  measures")
    for name in NAMES:
        module = import_module(f"experiments.{name}")
        cells = module.cells()
        done = sum((RESULTS / f"{cell}.json").exists() for cell in cells)
        left = (len(cells) - done) * module.MINUTES
        print(f"{name:28s} {done:>4d}/{len(cells):<4d} {left:>13.0f}  {module.ABOUT}")


if __name__ == "__main__":
    main()
