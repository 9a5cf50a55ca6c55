"""The default on six data sets, as a share of the converged supervised score.

Nothing is set but the seed. No human label is used: not in training, not to select weights, not to
calibrate scores. The yardstick (`yardstick.py`) is the same encoder trained on human labels until it
converges.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

from experiments.calibration import calibration_error
from experiments.cells import PRECISION, Cell, documents, load_all, once, percent, scores, train_and_score
from experiments.command import run_command
from experiments.development import true_share
from experiments.systems import gazetteer_of
from experiments.yardstick import yardstick
from mproto import annotate
from mproto.config import load_config

if TYPE_CHECKING:
    from mproto import Recognizer

ABOUT, MINUTES = "the default on six data sets, as a share of the converged supervised score", 25
GOALS = {
    "bc5cdr-1.0": 93,
    "bc5cdr-0.2": 83,
    "conll03-1.0": 91,
    "conll03-kb": 90,
    "wikigold": 80,
    "ncbi-disease": 88,
}
SUPERVISED = {"bc5cdr-0.2": "bc5cdr-1.0", "conll03-kb": "conll03-1.0"}
"""Human labels do not depend on the term list."""
SEEDS = (0, 1, 2)
NOTE = """Test F1, precision and recall (strict, micro, in percent), MiniLM, mean over seeds. *Share* is that of
the yardstick. *With terms* combines the model with its terms (`prefer-gazetteer`), and *recommended* is
what training recommended of `model`, `both` and `terms`; the lists behind the labels of CoNLL03-KB,
Wikigold and NCBI were never published. *Unlabelled* is the estimated share of O words that are entities,
with the true share in brackets. *ECE* is the expected calibration error of the entities' scores."""


def cell_name(data: str, seed: int) -> str:
    return f"default/{data}-{seed}"


def cells() -> list[str]:
    return [cell_name(data, seed) for data in GOALS for seed in SEEDS]


def cell(data: str, seed: int) -> Cell:
    return once(cell_name(data, seed), lambda: _run(data, seed))


def has_terms(data: str) -> bool:
    return data.startswith(("bc5cdr", "conll03-1"))


def _run(data: str, seed: int) -> Cell:
    corpus, test = documents(data, "train"), documents(data, "test")
    gazetteer = gazetteer_of(data) if has_terms(data) else None
    found = train_and_score(
        f"default {data} {seed}",
        corpus,
        test,
        load_config(settings=[f"training.seed={seed}", PRECISION]),
        combine=(lambda model: model.with_gazetteer(gazetteer, "prefer-gazetteer")) if gazetteer else None,
        score_also={"dev": documents(data, "dev")},
        inspect=lambda model: _facts(model, data),
    )
    if gazetteer:
        found["lookup"] = scores(test, annotate([document.bare() for document in test], gazetteer))
    return found | {"truly_unlabelled": true_share(corpus)}


def _facts(model: Recognizer, data: str) -> Cell:
    return {
        "recommended": model.card.get("recommended"),
        "expected": model.card.get("expected scores"),
        "ece": calibration_error(documents(data, "test"), model),
    }


def render() -> str:
    rows = [
        "| data | seeds | supervised | lookup | **mproto** | share (goal) | with terms | recommended | unlabelled | ECE |",
        "|---" * 10 + "|",
    ]
    for data, goal in GOALS.items():
        if not (done := load_all(cell_name(data, seed) for seed in SEEDS)):
            continue
        supervised = yardstick(SUPERVISED.get(data, data))
        f1, precision, recall = (mean(percent(one)[key] for one in done) for key in ("f1", "precision", "recall"))
        values = [
            data,
            str(len(done)),
            f"{supervised:.1f}" if supervised else "not run",
            _mean(done, "lookup"),
            f"**{f1:.1f}** ({precision:.0f} / {recall:.0f})",
            f"{100 * f1 / supervised:.1f} % ({goal})" if supervised else f"({goal})",
            _mean(done, "with_gazetteer"),
            ", ".join(sorted({one["recommended"] for one in done})),
            f"{100 * mean(one['unlabelled'] for one in done):.1f} ({100 * done[0]['truly_unlabelled']:.1f})",
            f"{mean(one['ece'] for one in done):.2f}",
        ]
        rows.append("| " + " | ".join(values) + " |")
    return "\n".join([*rows, "", NOTE])


def _mean(done: list[Cell], split: str) -> str:
    return f"{mean(percent(one, split)['f1'] for one in done):.1f}" if split in done[0] else ""


def main() -> None:
    run_command(__doc__, "Default", render, cell, usual={"seed": [0]}, data=GOALS, seed=SEEDS)


if __name__ == "__main__":
    main()
