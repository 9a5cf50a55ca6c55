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
METHODS = {"mproto": "MProto", "tagger": "plain tagger"}
RULES = {
    "paper": "as for the paper",
    "insensitive": "`--case insensitive`",
    "sensitive": "`--case sensitive`",
    "smart": "default",
}
NOTE = """Strict F1 (precision / recall): the main table's models learn from the labels that were published with the data;
here the same dictionaries label the same sentences by mproto's own rules, and stand beside the model (*terms beside it*:
`prefer-gazetteer`; letter case counts where the labels are the published ones, as it does in them). With several seeds,
the mean. CoNLL03's knowledge base was never published.
`python -m experiments.own_labels` makes this section."""


def lookup_name(data: str) -> str:
    return f"own_labels/lookup-{data}"


def cell_name(method: str, data: str, seed: int = 0) -> str:
    return f"own_labels/{method}-{data}-{seed}"


def cells() -> list[str]:
    return [*map(lookup_name, DATA), *(cell_name(method, data) for method in METHODS for data in DATA)]


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
        train = list(annotate([document.bare() for document in documents(data, "train")], gazetteer))
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
        own = {data: [c for seed in range(3) if (c := load(cell_name(method, data, seed)))] for data in DATA}
        theirs = {data: [c for seed in range(3) if (c := systems.found(method, data, seed))] for data in DATA}
        for labels, groups in (("published", theirs), ("own", own)):
            for name, key in ((f"{title}, {labels} labels", "test"), ("… and terms beside it", "beside_terms")):
                whole = [[c for c in group if "beside_terms" in c] for group in groups.values()]
                lines.append(_row(name, [_figures([c[key]["overall"] for c in group]) for group in whole]))
    most = [systems.found("supervised", data) for data in DATA]
    lines.append(_row("human labels for all sentences", [_figures([c["test"]["overall"]] if c else []) for c in most]))
    return "\n".join(lines)


def main() -> None:
    parsed = arguments(__doc__, methods=METHODS, data=DATA, seeds=range(3))
    if not parsed.render:
        for data in parsed.data:
            lookup(data)
            for method in parsed.methods:
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
