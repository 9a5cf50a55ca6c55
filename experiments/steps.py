"""How long to train: MProto beside the supervised tagger, on development data.

    python -m experiments.steps [--data bc5cdr-0.2] [--methods mproto] [--paces usual twice] [--render]

What counts is the share of the supervised score: more steps may help both, or teach noise. Seed 1; no test score is looked
at. Needs MPROTO_DATA.
"""

from __future__ import annotations

from experiments import recipe, systems
from experiments.arguments import arguments
from experiments.cells import Cell, load, once
from experiments.page import write_section

ABOUT, MINUTES = "how long to train, on development data", 8
DATA = ("bc5cdr-1.0", "bc5cdr-0.2", "conll03-kb", "conll03-1.0")
METHODS = {"mproto": "MProto", "supervised": "plain tagger, human labels"}
AS_USUAL = {"mproto": "whole", "supervised": "supervised"}
"""The rows of `recipe` that are this, too."""
PACES = {"usual": ("as in the main table", 1), "twice": ("twice the steps", 2)}
"""How many times the epochs."""
NOTE = """Strict F1 on **development** (precision / recall), seed 1, and the share of the supervised one.
`python -m experiments.steps` makes this section."""


def cell_name(method: str, pace: str, data: str) -> str:
    if pace == "usual":
        return recipe.cell_name(AS_USUAL[method], data)
    data = f"{systems.corpus_of(data)}-1.0" if method == "supervised" else data
    return f"steps/{method}-{pace}-{data}"


def cells() -> list[str]:
    return list(dict.fromkeys(cell_name(m, pace, data) for m in METHODS for pace in PACES for data in DATA))


def cell(method: str, pace: str, data: str) -> Cell:
    if pace == "usual":
        return recipe.cell(AS_USUAL[method], data)
    settings = [f"training.epochs={PACES[pace][1] * systems.EPOCHS[systems.corpus_of(data)]}"]
    name, supervised = f"steps {method} {pace} {data}", method == "supervised"
    return once(
        cell_name(method, pace, data), lambda: recipe.on_development(name, data, settings, supervised=supervised)
    )


def render() -> str:
    rows = []
    for pace, (title, _) in PACES.items():
        for method, name in METHODS.items():
            shown = []
            for data in DATA:
                found, most = (load(cell_name(m, pace, data)) for m in (method, "supervised"))
                text = "not run"
                if found:
                    values = {key: 100 * found["dev"]["overall"][key] for key in ("f1", "precision", "recall")}
                    text = f"{values['f1']:.2f} ({values['precision']:.1f} / {values['recall']:.1f})"
                    if most and method != "supervised":
                        text += f", {values['f1'] / most['dev']['overall']['f1']:.1f} %"
                shown.append(text)
            rows.append(f"| {title}: {name} | {' | '.join(shown)} |")
    return "\n".join([NOTE, "", f"| | {' | '.join(DATA)} |", "|---|---|---|---|---|", *rows])


def main() -> None:
    parsed = arguments(__doc__, data=DATA, methods=METHODS, paces=PACES)
    if not parsed.render:
        for pace in parsed.paces:
            for method in parsed.methods:
                for data in parsed.data:
                    overall = cell(method, pace, data)["dev"]["overall"]
                    figures = {key: round(100 * overall[key], 2) for key in ("f1", "precision", "recall")}
                    print(pace, method, data, figures, flush=True)
    write_section("How long to train", render())


if __name__ == "__main__":
    main()
