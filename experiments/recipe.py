"""What each ingredient of the default recipe is worth: each one removed, on development data.

    python -m experiments.recipe [--variants whole mentions] [--data bc5cdr-1.0] [--seeds 0 1 2] [--render]

Strict F1 on the human labels of *development*: here the recipe is chosen, so no test score is looked at. Seed 1, unless
others are asked for. Cells of earlier candidates are kept in results/recipe; their settings are in them, and LOG.md says
what became of them. Needs MPROTO_DATA.
"""

from __future__ import annotations

from itertools import product
from statistics import mean

from experiments import systems
from experiments.arguments import arguments
from experiments.cells import Cell, documents, load, once, train_in_folder
from experiments.page import write_section
from mproto.config import load_config

ABOUT, MINUTES = "what each ingredient of the recipe is worth, on development data", 8
DATA = ("bc5cdr-1.0", "bc5cdr-0.2", "conll03-kb", "conll03-1.0")
SEED, SEEDS = 1, (0, 1, 2)
"""The seed of every cell, and those that it may have instead."""
VARIANTS: dict[str, tuple[str, list[str]]] = {
    "whole": ("the default", []),
    "supervised": ("plain tagger, human labels", []),
    "undoubted": ("nothing is left out", ["mproto.denoise=false"]),
    "third": ("words are left out from a third of training on", ["mproto.denoise_after=0.33"]),
    "fixed": ("β is 0.96, not estimated", ["mproto.beta=0.96"]),
    "plan": ("a plan cut off, as in the paper, not a threshold", ["mproto.solver=sinkhorn"]),
    "kinless": ("kin are not asked", ["mproto.kin=0"]),
    "mentions": ("each mention speaks for itself", ["mproto.shared_doubt=0"]),
    "alike": ("labelled words count like all", ["mproto.labelled_share=0"]),
    "single": ("one prototype of each class", ["mproto.prototypes=1"]),
    "random": ("prototypes start at random", ["mproto.start=random"]),
    "apart": ("cross-entropy over prototypes", ["mproto.merge=false"]),
    "loose": ("no compactness", ["mproto.compactness=0"]),
    "separate": ("each word is decided for itself", ["mproto.together=false"]),
    "last": ("the last weights, not their mean", ["training.average=0"]),
    "shapeless": ("capitals and digits are not told", ["shapes=false"]),
}
NOTE = """Strict F1 on **development** (precision / recall), seed 1, or the mean of so many seeds: on this the recipe was
chosen. Each row but the first two lacks one ingredient; *gain* is what it is worth, F1 of the default minus F1 without it,
seed by seed, on average. With three seeds, prototypes from k-means gain half a point and compactness a quarter; one prototype
of each class is as good as three (LOG.md).
`python -m experiments.recipe` makes this section."""


def cell_name(variant: str, data: str, seed: int = SEED) -> str:
    data = f"{systems.corpus_of(data)}-1.0" if variant == "supervised" else data
    return f"recipe/{variant}-{data}-{seed}"


def cells() -> list[str]:
    return list(dict.fromkeys(cell_name(variant, data) for variant in VARIANTS for data in DATA))


def cell(variant: str, data: str, seed: int = SEED) -> Cell:
    supervised, settings = variant == "supervised", VARIANTS[variant][1]
    return once(
        cell_name(variant, data, seed),
        lambda: on_development(f"recipe {variant} {data} {seed}", data, settings, seed, supervised=supervised),
    )


def on_development(name: str, data: str, settings: list[str], seed: int = SEED, *, supervised: bool) -> Cell:
    """Train MProto with some settings, or the tagger with human labels, and score it on development data, as `dev`."""
    method = "tagger" if supervised else "mproto"
    config = load_config(settings=[*systems.budget(data, seed), *settings], method=method)
    corpus = documents(data, "train")
    distant, labelled = ([], corpus) if supervised else (corpus, [])
    found = train_in_folder(name, distant, None, documents(data, "dev"), config, labelled=labelled)
    return {"dev" if key == "test" else key: value for key, value in found.items()}


def render() -> str:
    rows = []
    for variant, (title, _) in VARIANTS.items():
        shown = [show([c for seed in SEEDS if (c := load(cell_name(variant, data, seed)))]) for data in DATA]
        gain = _gain(variant) if variant not in ("whole", "supervised") else ""
        rows.append(f"| {title} | {' | '.join(shown)} | {gain} |")
    return "\n".join([NOTE, "", f"| | {' | '.join(DATA)} | gain |", "|---|---|---|---|---|---|", *rows])


def _gain(variant: str) -> str:
    """How much F1 the default has more, on average over the data sets; of the same seeds on each."""
    means = []
    for data in DATA:
        both = [tuple(load(cell_name(v, data, seed)) for v in ("whole", variant)) for seed in SEEDS]
        f1 = [[cell["dev"]["overall"]["f1"] for cell in pair if cell] for pair in both]
        means.append([100 * (pair[0] - pair[1]) for pair in f1 if len(pair) == 2])
    return f"{mean(map(mean, means)):.2f}" if all(means) else ""


def show(found: list[Cell]) -> str:
    """The mean of some cells that differ by their seeds."""
    if not found:
        return "not run"
    overall = [cell["dev"]["overall"] for cell in found]
    f1, precision, recall = (100 * mean(own[key] for own in overall) for key in ("f1", "precision", "recall"))
    return f"{f1:.2f} ({precision:.1f} / {recall:.1f}{f'; {len(found)} seeds' if len(found) > 1 else ''})"


def main() -> None:
    parsed = arguments(__doc__, {"seeds": [SEED]}, variants=VARIANTS, data=DATA, seeds=SEEDS)
    if not parsed.render:
        for variant, data, seed in product(parsed.variants, parsed.data, parsed.seeds):
            overall = cell(variant, data, seed)["dev"]["overall"]
            shown = {key: round(100 * overall[key], 2) for key in ("f1", "precision", "recall")}
            print(variant, data, seed, shown, flush=True)
    write_section("Ingredients of the recipe", render())


if __name__ == "__main__":
    main()
