"""Candidates for the default recipe, on development data: no test score is looked at.

    python -m experiments.recipe [--variants default auto] [--data bc5cdr-1.0] [--seeds 1]

Strict F1 on the human labels of *development*; two epochs on BC5CDR, one on CoNLL03, MiniLM, the last weights. A finished
cell is a JSON file in results/recipe and is not run again. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
from statistics import mean

from experiments import systems
from experiments.cells import Cell, documents, figures, once, require_data, train_in_folder
from mproto.config import load_config

DATA = ("bc5cdr-1.0", "bc5cdr-0.2", "conll03-1.0")
VARIANTS: dict[str, list[str]] = {
    "words": [],  # the default
    "mentions": ["mproto.shared_doubt=0"],
    "alike": ["mproto.labelled_share=0"],
}
"""Earlier candidates, whose cells are kept, had settings that are no more; their cells and LOG.md say which."""


def run(variant: str, data: str, seed: int) -> Cell:
    config = load_config(settings=[*systems.budget(data, seed), *VARIANTS[variant]])
    name = f"recipe {variant} {data} {seed}"
    cell = train_in_folder(name, documents(data, "train"), None, documents(data, "dev"), config)
    return {"dev" if key == "test" else key: value for key, value in cell.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parsed = parser.parse_args()
    require_data()
    for variant in parsed.variants:
        scores = []
        for data in parsed.data:
            for seed in parsed.seeds:
                found = once(f"recipe/{variant}-{data}-{seed}", lambda: run(variant, data, seed))  # noqa: B023
                scores.append(100 * found["dev"]["overall"]["f1"])
                print(f"{variant} {data} seed {seed}: F1 P R {figures(found, 'dev')}", flush=True)
        print(f"{variant}: {mean(scores):.2f} on average")


if __name__ == "__main__":
    main()
