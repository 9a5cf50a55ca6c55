"""What the default matching gains: the paper's dictionaries, matched by mproto's own rules.

The models of the main table learn from the labels that were published with the data. Here the same
dictionaries label the same sentences as `mproto train --gazetteer` does, and are combined with the
model by `prefer-gazetteer`. The rules of matching were compared on development data, never on test.
"""

from __future__ import annotations

from experiments import systems
from experiments.cells import Cell, documents, load_all, once, scores, show, train_and_score
from experiments.command import run_command
from mproto import annotate
from mproto.gazetteer import MatchOptions

ABOUT, MINUTES = "labels by the default matching, and the gazetteer combined with the model", 8
DATA = {"bc5cdr-1.0": "BC5CDR 1.0", "bc5cdr-0.2": "BC5CDR 0.2", "conll03-1.0": "CoNLL03 1.0"}
METHODS = {"mproto": "MProto", "tagger": "plain tagger", "supervised": "human labels for all sentences"}
RULES = {
    "paper": "the paper's matching",
    "insensitive": "`--case insensitive`",
    "sensitive": "`--case sensitive`",
    "smart": "default",
}
NOTE = """Strict F1 (precision / recall). *Published labels* are those of the main table; *own
labels* are made by mproto's default matching from the same dictionaries. *With gazetteer*: the same
terms, combined with the model (`prefer-gazetteer`). The mean of the seeds that were run. CoNLL03's
knowledge base was never published. The models with human labels were stopped after one or two
epochs (README.md)."""


def lookup_name(data: str) -> str:
    return f"own_labels/lookup-{data}"


def cell_name(method: str, data: str, seed: int = 0) -> str:
    return f"own_labels/{method}-{data}-{seed}"


def cells() -> list[str]:
    return [*map(lookup_name, DATA), *(cell_name(m, data) for m in METHODS for data in DATA if exists(m, data))]


def exists(method: str, data: str) -> bool:
    """Say whether a cell exists: human labels do not depend on the size of the dictionary."""
    return method != "supervised" or data.endswith("1.0")


def lookup(data: str) -> Cell:
    """Score lookup alone, by each rule of matching, on development and test data."""

    def run() -> Cell:
        found: Cell = {}
        for split in ("dev", "test"):
            gold = documents(data, split)
            bare, gazetteer = [document.bare() for document in gold], systems.gazetteer_of(data)
            for rule in RULES:
                labelled = (
                    annotate(bare, gazetteer, matching="paper")
                    if rule == "paper"
                    else annotate(bare, gazetteer, options=MatchOptions(case=rule))  # type: ignore[arg-type]
                )
                found.setdefault(split, {})[rule] = scores(gold, labelled)
        return found

    return once(lookup_name(data), run)


def cell(data: str, method: str, seed: int) -> Cell | None:
    """Run a model on the labels of the default matching, or load its cell."""
    lookup(data)
    if not exists(method, data):
        return None

    def run() -> Cell:
        gazetteer = systems.gazetteer_of(data)
        corpus = documents(data, "train")
        if method == "supervised":
            corpus = systems.with_human_labels(corpus)
        else:
            corpus = list(annotate([document.bare() for document in corpus], gazetteer))
        return train_and_score(
            f"own labels {method} {data} {seed}",
            corpus,
            documents(data, "test"),
            systems.config_of(method, data, seed),
            combine=lambda model: model.with_gazetteer(gazetteer, "prefer-gazetteer"),
        )

    return once(cell_name(method, data, seed), run)


def _row(title: str, groups: list[list[Cell]], split: str) -> str:
    return f"| {title} | {' | '.join(show(group, split, digits=0) for group in groups)} |"


def render() -> str:
    head, line = f" | {' | '.join(DATA.values())} |", "|---|---|---|---|"
    found = [load_all([lookup_name(data)]) for data in DATA]
    lines = [NOTE, "", f"| lookup alone, development{head}", line]
    lines += [_row(title, _by_rule(found, "dev", rule), rule) for rule, title in RULES.items()]
    lines += ["", f"| test{head}", line]
    lines += [_row(f"lookup alone, {RULES[rule]}", _by_rule(found, "test", rule), rule) for rule in ("paper", "smart")]
    for method, title in METHODS.items():
        own = [load_all(cell_name(method, data, seed) for seed in systems.SEEDS) for data in DATA]
        published = [systems.done(method, data) for data in DATA]
        if method == "supervised":
            lines.append(_row(title, published, "test"))
        else:
            lines.append(_row(f"{title}, published labels", published, "test"))
            lines.append(_row(f"{title}, own labels", own, "test"))
        lines.append(_row("… with gazetteer", own, "with_gazetteer"))
    return "\n".join(lines)


def _by_rule(found: list[list[Cell]], split: str, rule: str) -> list[list[Cell]]:
    return [[{rule: cell[split][rule]} for cell in group] for group in found]


def main() -> None:
    run_command(__doc__, "Own labels", render, cell, data=DATA, methods=METHODS, seeds=systems.SEEDS)


if __name__ == "__main__":
    main()
