"""What it is worth to tell an uncased encoder how words are written (capitals, digits, signs).

    python -m experiments.word_shape [--data conll03-1.0]

The default preset with it, on the human labels of *development*, beside the cells of `choose_beta.py` (β = 0.96, seed 1),
which were trained before there was such a thing. Cells are in results/word_shape. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse

from experiments.cells import BEFORE, figures, load, once, require_data, train_and_score
from mproto.config import load_config

DATA = {"conll03-1.0": 1, "bc5cdr-1.0": 2, "bc5cdr-0.2": 2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    require_data()
    for data in parser.parse_args().data:
        settings = [f"training.epochs={DATA[data]}", "training.min_steps=0", "training.seed=1", *BEFORE[:2]]
        config = load_config(settings=settings)
        found = once(f"word_shape/{data}-1", lambda: train_and_score(data, data, config, "dev"))  # noqa: B023
        print(f"{data} with shapes: F1 P R {figures(found, 'dev')}", flush=True)
        if before := load(f"choose_beta/{data}-0.96-1"):
            print(f"{data} without:     F1 P R {figures(before, 'dev')}", flush=True)


if __name__ == "__main__":
    main()
