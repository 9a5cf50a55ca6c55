"""Which β the default preset has: the share of the words labelled O that denoising leaves with O.

    python -m experiments.choose_beta
    python -m experiments.choose_beta --betas 0.99 1 auto --data bc5cdr-1.0   # 1: no denoising; auto: estimated

Each β on three data sets, scored on the human labels of *development* (test is not looked at); the one with the best
mean F1 is the default. Two epochs on BC5CDR and one on CoNLL03, which has three times as many sentences; MiniLM, no
selection. A finished cell is a JSON file in results/choose_beta and is not run again. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
from statistics import mean

from experiments.cells import BEFORE, Cell, once, require_data, train_and_score
from mproto.config import load_config

DATA = {"bc5cdr-1.0": 2, "bc5cdr-0.2": 2, "conll03-1.0": 1}
BETAS = (0.9, 0.93, 0.96, 0.98)


def run(data: str, beta: float | str, seed: int) -> Cell:
    settings = [*BEFORE, f"training.epochs={DATA[data]}", "training.min_steps=0", f"training.seed={seed}"]
    settings.append("mproto.denoise=false" if beta == 1 else f"mproto.beta={beta}")
    return train_and_score(f"{data} β={beta}", data, load_config(settings=settings), "dev")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--betas", nargs="+", type=lambda beta: beta if beta == "auto" else float(beta), default=BETAS)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parsed = parser.parse_args()
    require_data()
    scores: dict[float | str, list[float]] = {beta: [] for beta in parsed.betas}
    for data in parsed.data:
        for beta in parsed.betas:
            result = once(f"choose_beta/{data}-{beta}-{parsed.seed}", lambda: run(data, beta, parsed.seed))  # noqa: B023
            scores[beta].append(100 * result["dev"]["overall"]["f1"])
            overall = result["dev"]["overall"]
            print(data, beta, *(f"{100 * overall[key]:.2f}" for key in ("f1", "precision", "recall")), flush=True)
    for beta, found in scores.items():
        print(f"β={beta}: {mean(found):.2f}  ({', '.join(f'{value:.2f}' for value in found)})")


if __name__ == "__main__":
    main()
