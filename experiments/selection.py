"""What choosing weights without human labels costs: test F1 of what each strategy chose, beside what human labels would
have.

    python -m experiments.selection [--data bc5cdr-1.0] [--seeds 0]

Two runs for each data set and seed: `last`, which learns from everything, and `held-out`, from which some documents and
terms are hidden. At every evaluation dev and test are scored too (on every fourth sentence; the scores decide nothing
in the run). Gold picks the evaluation of the same run with the best dev F1. A finished cell is a JSON file in
results/selection.
"""

from __future__ import annotations

import argparse
from statistics import mean
from typing import TYPE_CHECKING

from experiments.cells import BEFORE, Cell, documents, once, require_data
from mproto import score, train
from mproto.config import load_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto import Recognizer
    from mproto.training.loop import Progress

DATA = {"bc5cdr-1.0": 2, "bc5cdr-0.2": 2, "conll03-1.0": 1}
STRATEGIES = ("last", "held-out")
EVALUATIONS = 8
EVERY = 4


def scorer(data: str, split: str) -> Callable[[Recognizer], float]:
    gold = documents(data, split)[::EVERY]
    bare = [document.bare() for document in gold]
    return lambda recognizer: score(zip(gold, recognizer.predict(bare), strict=True)).overall.f1


def run(data: str, strategy: str, seed: int) -> Cell:
    corpus = documents(data, "train")
    measures = {split: scorer(data, split) for split in ("dev", "test")}
    steps = DATA[data] * len(corpus) // 32
    settings = [*BEFORE, f"training.epochs={DATA[data]}", "training.min_steps=0", f"training.seed={seed}"]
    settings += [
        f'training.selection="{strategy}"',
        f"training.evaluate_every={steps // EVALUATIONS}",
        "training.average=0.2",
    ]
    evaluations: list[Cell] = []

    def remember(progress: Progress) -> None:
        if "dev" in progress.logs:
            evaluations.append({"step": progress.step, "score": progress.score, **progress.logs})
            print(data, strategy, seed, evaluations[-1], flush=True)

    config = load_config(settings=settings)
    recognizer = train(corpus, config=config, on_step=remember, measures=measures).recognizer
    return {
        "data": data,
        "strategy": strategy,
        "seed": seed,
        "evaluations": evaluations,
        "chosen": {split: measure(recognizer) for split, measure in measures.items()},
        "config": config.as_dict(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    parsed = parser.parse_args()
    require_data()
    losses: dict[str, list[float]] = {name: [] for name in ("last", "averaged", "held-out")}
    for seed in parsed.seeds:
        for data in parsed.data:
            for strategy in parsed.strategies:
                result = once(f"selection/{data}-{strategy}-{seed}", lambda: run(data, strategy, seed))  # noqa: B023
                found = result["evaluations"]
                gold = max(found, key=lambda evaluation: evaluation["dev"])["test"]
                chosen = {"averaged": result["chosen"]["test"], "last": found[-1]["test"]}
                if strategy == "held-out":
                    chosen = {"held-out": result["chosen"]["test"]}
                for name, value in chosen.items():
                    losses[name].append(100 * (gold - value))
                    print(f"{data} seed {seed} {name}: {100 * value:.2f}, gold {100 * gold:.2f}", flush=True)
    for name, values in losses.items():
        if values:
            print(
                f"{name}: {mean(values):.2f} below gold on average, {max(values):.2f} at worst, of {len(values)} runs"
            )


if __name__ == "__main__":
    main()
