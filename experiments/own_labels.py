"""What the default matching is worth: the paper's dictionaries, looked up by mproto's own rules.

    python -m experiments.own_labels [--methods mproto] [--data bc5cdr-1.0] [--seeds 0 1 2] [--render]

The main table learns from the labels that were published with the data. Here the same dictionaries label the same sentences
as `mproto train --gazetteer` does, and stand beside the model as with `--combine prefer-gazetteer`. The rules of matching
were looked at on development data (`lookup`), never on test. Needs MPROTO_DATA.
"""

from __future__ import annotations

from statistics import mean

from experiments import systems
from experiments.arguments import arguments
from experiments.cells import Cell, documents, load, once, train_in_folder
from experiments.page import write_section
from experiments.systems import gazetteer_of
from mproto import annotate, score
from mproto.gazetteer import MatchOptions

ABOUT, MINUTES = "labels by the default matching, and the dictionary beside the model", 8
DATA = {"bc5cdr-1.0": "BC5CDR 1.0", "bc5cdr-0.2": "BC5CDR 0.2", "conll03-1.0": "CoNLL03 1.0"}
METHODS = {"mproto": "MProto", "tagger": "plain tagger", "supervised": "human labels for all sentences"}
RULES = {
    "paper": "as for the paper",
    "insensitive": "`--case insensitive`",
    "sensitive": "`--case sensitive`",
    "smart": "default",
}
NOTE = """Strict F1 (precision / recall): the main table's models learn from the labels that were published with the data;
here the same dictionaries label the same sentences by mproto's own rules, and stand beside the model (*terms beside it*:
`prefer-gazetteer`). With several seeds, the mean. CoNLL03's knowledge base was never published.
`python -m experiments.own_labels` makes this section."""


def lookup_name(data: str) -> str:
    return f"own_labels/lookup-{data}"


def cell_name(method: str, data: str, seed: int = 0) -> str:
    return f"own_labels/{method}-{data}-{seed}"


def cells() -> list[str]:
    return [*map(lookup_name, DATA), *(cell_name(m, data) for m in METHODS for data in DATA if exists(m, data))]


def exists(method: str, data: str) -> bool:
    """Human labels are the same however many terms there are."""
    return method != "supervised" or data.endswith("1.0")


def lookup(data: str) -> Cell:
    """What lookup alone finds, by each rule of matching, on development and on test."""

    def run() -> Cell:
        found: Cell = {}
        for split in ("dev", "test"):
            gold = documents(data, split)
            bare, gazetteer = [document.bare() for document in gold], gazetteer_of(data)
            for rule in RULES:
                labelled = (
                    annotate(bare, gazetteer, matching="paper")
                    if rule == "paper"
                    else annotate(bare, gazetteer, options=MatchOptions(case=rule))  # type: ignore[arg-type]
                )
                found.setdefault(split, {})[rule] = score(zip(gold, labelled, strict=True)).as_dict()["overall"]
        return found

    return once(lookup_name(data), run)


def cell(method: str, data: str, seed: int) -> Cell:
    """A model of the default labels."""

    def run() -> Cell:
        gazetteer = gazetteer_of(data)
        train = documents(data, "train")
        if method == "supervised":
            train = [document.with_spans(document.gold or (), None) for document in train]
        else:
            train = list(annotate([document.bare() for document in train], gazetteer))
        config = systems.config_of(method, data, seed)
        return train_in_folder(
            f"own labels {method} {data} {seed}",
            train,
            None,
            documents(data, "test"),
            config,
            beside=lambda model: model.with_gazetteer(gazetteer, "prefer-gazetteer"),
        )

    return once(cell_name(method, data, seed), run)


def _figures(scores: list[dict[str, float]]) -> str:
    if not scores:
        return "not run"
    f1, precision, recall = (100 * mean(one[key] for one in scores) for key in ("f1", "precision", "recall"))
    return f"{f1:.2f} ({precision:.0f} / {recall:.0f})"


def _row(title: str, values: list[str]) -> str:
    return f"| {title} | {' | '.join(values)} |"


def render() -> str:
    lines = [NOTE, "", _row("lookup alone, development", list(DATA.values())), "|---|---|---|---|"]
    found = {data: load(lookup_name(data)) for data in DATA}
    for rule, title in RULES.items():
        lines.append(_row(title, [_figures([c["dev"][rule]] if c else []) for c in found.values()]))
    lines += ["", _row("test", list(DATA.values())), "|---|---|---|---|"]
    for rule in ("paper", "smart"):
        title = f"lookup alone, {RULES[rule]}"
        lines.append(_row(title, [_figures([c["test"][rule]] if c else []) for c in found.values()]))
    for method, title in METHODS.items():
        own = [[c for seed in range(3) if (c := load(cell_name(method, data, seed)))] for data in DATA]
        theirs = [[c for seed in range(3) if (c := systems.found(method, data, seed))] for data in DATA]
        if method != "supervised":
            lines.append(_row(f"{title}, published labels", [_shown(group, "test") for group in theirs]))
            lines.append(_row(f"{title}, own labels", [_shown(group, "test") for group in own]))
        else:
            lines.append(_row(title, [_shown(group, "test") for group in theirs]))
        lines.append(_row("… and terms beside it", [_shown(group, "beside_terms") for group in own]))
    return "\n".join(lines)


def _shown(group: list[Cell], key: str) -> str:
    return _figures([cell[key]["overall"] for cell in group])


def main() -> None:
    parsed = arguments(__doc__, methods=METHODS, data=DATA, seeds=range(3))
    if not parsed.render:
        for data in parsed.data:
            lookup(data)
            for method in [method for method in parsed.methods if exists(method, data)]:
                for seed in parsed.seeds:
                    found = cell(method, data, seed)
                    print(
                        method,
                        data,
                        seed,
                        *(_figures([found[k]["overall"]]) for k in ("test", "beside_terms")),
                        flush=True,
                    )
    write_section("Own labels", render())


if __name__ == "__main__":
    main()
