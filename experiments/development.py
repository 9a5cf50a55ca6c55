"""Development settings: many small corpora and term lists, on which a recipe is chosen.

A recipe that is chosen on two corpora fails on others. Here are corpora with published distant
labels and corpora with simulated term lists (`simulate.py`), each small enough for a run of
minutes. Everything is scored on development data; test data are never read. The worst setting
counts as much as the mean, and a model must not be worse than its own terms.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

from experiments.calibration import calibration_error
from experiments.cells import PRECISION, Cell, documents, load, once, run_training, score_on, scores
from experiments.command import run_command
from experiments.simulate import simulate
from experiments.systems import gazetteer_of
from mproto import annotate
from mproto.config import load_config

if TYPE_CHECKING:
    from mproto import Document, Gazetteer, Recognizer

ABOUT, MINUTES = "recipes on many small corpora and simulated term lists", 4
SENTENCES = 1500
"""Training documents of the large corpora, evenly drawn."""


class Setting(NamedTuple):
    """A corpus with distant labels.

    Attributes:
        data: the corpus.
        share: of its terms that a simulated list has; None for the published labels.
    """

    data: str
    share: float | None = None


SETTINGS = {
    "wikigold": Setting("wikigold"),
    "ncbi-disease": Setting("ncbi-disease"),
    "conll03-kb": Setting("conll03-kb"),
    "bc5cdr-0.2": Setting("bc5cdr-0.2"),
    **{
        f"{data.partition('-')[0]}-{share:g}-simulated": Setting(data, share)
        for data in ("wikigold", "ncbi-disease", "conll03-1.0", "bc5cdr-1.0")
        for share in (0.1, 0.3, 0.6)
    },
}
THRESHOLD = ["mproto.denoising=threshold", "training.epochs=2", "training.min_steps=150"]
"""The recipe of version 0.1."""
RECIPES = {
    "default": [],
    "threshold": THRESHOLD,
    "beta-0.90": [*THRESHOLD, "mproto.beta=0.90"],
    "beta-0.95": [*THRESHOLD, "mproto.beta=0.95"],
    "beta-0.98": [*THRESHOLD, "mproto.beta=0.98"],
    "tagger": ["method=tagger"],
    "one-round": ["training.cross_fitting=1"],
    "three-rounds": ["training.cross_fitting=3"],
    "one-prototype": ["mproto.prototypes=1"],
}
SEEDS = (0, 1, 2)
NOTE = """F1 on development data: the model alone, and combined with its terms (`prefer-gazetteer`).
*Lookup* is the term list alone; the lists behind the labels of Wikigold, NCBI and CoNLL03-KB were
never published, so these have the model alone. **Bold**: worse than lookup. *threshold* is the recipe of
version 0.1, *beta* the same with a fixed share of O words. *Unlabelled* is the estimated share of O words
that are entities, with the true share in brackets; *recommended* is what training recommended, with the
best way in brackets. *ECE* is the expected calibration error of the entities' scores. Data sets have at most
1,500 training documents here, so scores are below those of the full data."""


def cell_name(setting: str, recipe: str, seed: int) -> str:
    return f"development/{setting}-{recipe}-{seed}"


def cells() -> list[str]:
    return [cell_name(setting, recipe, 0) for setting in SETTINGS for recipe in RECIPES]


def load_setting(name: str, seed: int = 0) -> tuple[list[Document], Gazetteer | None]:
    """Return the training documents of a setting, with human labels as gold, and its term list, if it is known."""
    setting = SETTINGS[name]
    corpus = documents(setting.data, "train")
    corpus = corpus[:: max(1, round(len(corpus) / SENTENCES))]
    if setting.share is not None:
        return simulate(corpus, setting.share, seed)
    return corpus, gazetteer_of(setting.data) if setting.data.startswith("bc5cdr") else None


def cell(setting: str, recipe: str, seed: int) -> Cell:
    return once(cell_name(setting, recipe, seed), lambda: _run(setting, recipe, seed))


def _run(setting: str, recipe: str, seed: int) -> Cell:
    corpus, gazetteer = load_setting(setting, seed)
    gold = documents(SETTINGS[setting].data, "dev")
    config = load_config(settings=[f"training.seed={seed}", PRECISION, *RECIPES[recipe]])
    result = run_training(f"{setting} {recipe} {seed}", corpus, config)
    return {
        "recipe": RECIPES[recipe],
        "documents": len(corpus),
        "steps": result.steps,
        "seconds": round(sum(progress.seconds for progress in result.history), 1),
        "unlabelled": result.unlabelled_share,
        "truly_unlabelled": true_share(corpus),
        "recommended": result.recommended,
        "ece": calibration_error(gold, result.recognizer),
        "dev": score_on(gold, result.recognizer),
        **(_with_terms(result.recognizer, gold, gazetteer) if gazetteer else {}),
    }


def _with_terms(recognizer: Recognizer, gold: list[Document], gazetteer: Gazetteer) -> Cell:
    return {
        "terms": len(gazetteer),
        "lookup": scores(gold, annotate([document.bare() for document in gold], gazetteer)),
        "with_gazetteer": score_on(gold, recognizer.with_gazetteer(gazetteer, "prefer-gazetteer")),
    }


def true_share(corpus: list[Document]) -> float:
    """Return the share of the words labelled O that are entities, by human labels: for analysis alone."""
    other = entities = 0
    for document in corpus:
        distant, human = (
            {word for start, end, _ in spans or () for word in range(start, end)}
            for spans in (document.word_spans, document.gold_word_spans)
        )
        other += document.word_count - len(distant)
        entities += len(human - distant)
    return round(entities / max(other, 1), 4)


def render() -> str:
    return "\n\n".join([_scores(), _estimates(), NOTE])


def _scores() -> str:
    """Return the F1 of every setting and recipe."""
    rows = ["| setting | lookup | " + " | ".join(RECIPES) + " |", "|---" * (2 + len(RECIPES)) + "|"]
    gains: dict[str, list[float]] = {recipe: [] for recipe in RECIPES}
    for setting in SETTINGS:
        found = {recipe: _done(setting, recipe) for recipe in RECIPES}
        known = [one for done in found.values() for one in done]
        if not known:
            continue
        lookup = 100 * mean(one["lookup"]["f1"] for one in known) if "lookup" in known[0] else None
        shown = []
        for recipe, done in found.items():
            f1 = [100 * mean(one[split]["f1"] for one in done) for split in _splits(lookup) if done]
            if done and lookup is not None:
                gains[recipe].append(f1[-1] - lookup)
            shown.append(" / ".join(f"**{one:.1f}**" if one < (lookup or 0) else f"{one:.1f}" for one in f1))
        first = "" if lookup is None else f"{lookup:.1f}"
        rows.append(f"| {setting} | {first} | " + " | ".join(shown) + " |")
    for name, choose in (("mean gain over lookup", mean), ("worst gain over lookup", min)):
        values = [f"{choose(values):+.1f}" if values else "" for values in gains.values()]
        rows.append(f"| {name}, with terms | | " + " | ".join(values) + " |")
    return "\n".join(rows)


def _splits(lookup: float | None) -> tuple[str, ...]:
    return ("dev",) if lookup is None else ("dev", "with_gazetteer")


def _estimates() -> str:
    """Return what the default says of itself, without human labels, beside the truth."""
    rows = ["| setting | unlabelled (true) | threshold's estimate | recommended (best) | ECE |", "|---" * 5 + "|"]
    errors = []
    for setting in SETTINGS:
        if not (done := _done(setting, "default")):
            continue
        errors.append(mean(one["ece"] for one in done))
        old = [100 * one["unlabelled"] for one in _done(setting, "threshold")]
        values = [
            f"{100 * mean(one['unlabelled'] for one in done):.1f} ({100 * done[0]['truly_unlabelled']:.1f})",
            f"{mean(old):.1f}" if old else "",
            ", ".join(f"{one['recommended']} ({_best_way(one)})" for one in done),
            f"{errors[-1]:.2f}",
        ]
        rows.append(f"| {setting} | " + " | ".join(values) + " |")
    if errors:
        rows.append(f"| mean, worst | | | | {mean(errors):.2f}, {max(errors):.2f} |")
    return "\n".join(rows)


def _best_way(one: Cell) -> str:
    """Return the way to find entities with the best F1 on development data, for analysis."""
    splits = {"model": "dev", "both": "with_gazetteer", "terms": "lookup"}
    known = {way: one[split]["f1"] for way, split in splits.items() if split in one}
    return max(known, key=known.__getitem__) if len(known) > 1 else "unknown"


def _done(setting: str, recipe: str) -> list[Cell]:
    return [one for seed in SEEDS if (one := load(cell_name(setting, recipe, seed)))]


def main() -> None:
    run_command(
        __doc__, "Development settings", render, cell, usual={"seed": [0]}, setting=SETTINGS, recipe=RECIPES, seed=SEEDS
    )


if __name__ == "__main__":
    main()
