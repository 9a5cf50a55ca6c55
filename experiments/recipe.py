"""What each ingredient of the default recipe is worth: each one removed, on development data.

    python -m experiments.recipe [--variants whole mentions] [--data bc5cdr-1.0] [--render]

Strict F1 on the human labels of *development*, seed 1: here the recipe is chosen, so no test score is looked at. Cells of
earlier candidates are kept in results/recipe; their settings are in them, and LOG.md says what became of them. Needs
MPROTO_DATA.
"""

from __future__ import annotations

from experiments import systems
from experiments.arguments import arguments
from experiments.cells import Cell, documents, load, once, train_in_folder
from experiments.page import write_section
from mproto.config import load_config

ABOUT, MINUTES = "what each ingredient of the recipe is worth, on development data", 8
DATA = ("bc5cdr-1.0", "bc5cdr-0.2", "conll03-kb", "conll03-1.0")
SEED = 1
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
NOTE = """Strict F1 on **development** (precision / recall), seed 1: on this the recipe was chosen. Each row but the
first two lacks one ingredient.
`python -m experiments.recipe` makes this section."""


def cell_name(variant: str, data: str) -> str:
    data = f"{systems.corpus_of(data)}-1.0" if variant == "supervised" else data
    return f"recipe/{variant}-{data}-{SEED}"


def cells() -> list[str]:
    return list(dict.fromkeys(cell_name(variant, data) for variant in VARIANTS for data in DATA))


def cell(variant: str, data: str) -> Cell:
    supervised, settings = variant == "supervised", VARIANTS[variant][1]
    return once(
        cell_name(variant, data),
        lambda: on_development(f"recipe {variant} {data}", data, settings, supervised=supervised),
    )


def on_development(name: str, data: str, settings: list[str], *, supervised: bool) -> Cell:
    """Train MProto with some settings, or the tagger with human labels, and score it on development data, as `dev`."""
    method = "tagger" if supervised else "mproto"
    config = load_config(settings=[*systems.budget(data, SEED), *settings], method=method)
    corpus = documents(data, "train")
    distant, labelled = ([], corpus) if supervised else (corpus, [])
    found = train_in_folder(name, distant, None, documents(data, "dev"), config, labelled=labelled)
    return {"dev" if key == "test" else key: value for key, value in found.items()}


def render() -> str:
    rows = []
    for variant, (title, _) in VARIANTS.items():
        shown = []
        for data in DATA:
            found = load(cell_name(variant, data))
            values = found and found["dev"]["overall"]
            figures = values and f"{100 * values['f1']:.2f} ({values['precision']:.1%} / {values['recall']:.1%})"
            shown.append((figures or "not run").replace("%", ""))
        rows.append(f"| {title} | {' | '.join(shown)} |")
    return "\n".join([NOTE, "", f"| | {' | '.join(DATA)} |", "|---|---|---|---|---|", *rows])


def main() -> None:
    parsed = arguments(__doc__, variants=VARIANTS, data=DATA)
    if not parsed.render:
        for variant in parsed.variants:
            for data in parsed.data:
                overall = cell(variant, data)["dev"]["overall"]
                print(
                    variant,
                    data,
                    {key: round(100 * overall[key], 2) for key in ("f1", "precision", "recall")},
                    flush=True,
                )
    write_section("Ingredients of the recipe", render())


if __name__ == "__main__":
    main()
