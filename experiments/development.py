"""Development settings: many small corpora and term lists, on which a recipe is chosen.

A recipe that is chosen on two corpora fails on others. Here are corpora with published distant
labels and corpora with simulated term lists (`simulate.py`), each small enough for a run of
minutes. Everything is scored on development data; test data are never read. The worst setting
counts as much as the mean, and a model must not be worse than its own terms.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

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
RECIPES = {
    "default": [],
    "beta-0.90": ["mproto.beta=0.90"],
    "beta-0.95": ["mproto.beta=0.95"],
    "beta-0.98": ["mproto.beta=0.98"],
    "tagger": ["method=tagger"],
}
SEEDS = (0, 1, 2)
NOTE = """F1 on development data: the model alone, and combined with its terms (`prefer-gazetteer`).
*Lookup* is the term list alone; the lists behind the labels of Wikigold, NCBI and CoNLL03-KB were
never published, so these have the model alone. *Unlabelled* is the estimated share of O words that
are entities, with the true share in brackets. **Bold**: worse than lookup. Published data sets have at most 1,500
training documents here, so scores are below those of the main table."""


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
        "dev": score_on(gold, result.recognizer),
        **(_with_terms(result.recognizer, gold, gazetteer) if gazetteer else {}),
    }


def _with_terms(recognizer: Recognizer, gold: list[Document], gazetteer: Gazetteer) -> Cell:
    return {
        "terms": len(gazetteer),
        "lookup": scores(gold, annotate([document.bare() for document in gold], gazetteer)),
        "with_gazetteer": score_on(gold, recognizer.with_gazetteer(gazetteer)),
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
    rows = ["| setting | lookup | unlabelled | " + " | ".join(RECIPES) + " |", "|---" * (3 + len(RECIPES)) + "|"]
    means: dict[str, list[float]] = {recipe: [] for recipe in RECIPES}
    for setting in SETTINGS:
        found = {recipe: _done(setting, recipe) for recipe in RECIPES}
        known = [one for done in found.values() for one in done]
        if not known:
            continue
        lookup = 100 * mean(one["lookup"]["f1"] for one in known) if "lookup" in known[0] else None
        shares = [100 * one["unlabelled"] for one in found["default"] if one["unlabelled"] is not None]
        truth = 100 * mean(one["truly_unlabelled"] for one in known)
        shown = []
        for recipe, done in found.items():
            if not done:
                shown.append("")
                continue
            alone = 100 * mean(one["dev"]["f1"] for one in done)
            if lookup is None:
                shown.append(f"{alone:.1f}")
                continue
            both = 100 * mean(one["with_gazetteer"]["f1"] for one in done)
            means[recipe].append(both - lookup)
            shown.append(" / ".join(f"**{f1:.1f}**" if f1 < lookup else f"{f1:.1f}" for f1 in (alone, both)))
        estimate = f"{mean(shares):.1f} ({truth:.1f})" if shares else f"({truth:.1f})"
        first = "" if lookup is None else f"{lookup:.1f}"
        rows.append(f"| {setting} | {first} | {estimate} | " + " | ".join(shown) + " |")
    for name, choose in (("mean gain over lookup", mean), ("worst gain over lookup", min)):
        gains = [f"{choose(values):+.1f}" if values else "" for values in means.values()]
        rows.append(f"| {name}, with terms | | | " + " | ".join(gains) + " |")
    return "\n".join([*rows, "", NOTE])


def _done(setting: str, recipe: str) -> list[Cell]:
    return [one for seed in SEEDS if (one := load(cell_name(setting, recipe, seed)))]


def main() -> None:
    run_command(
        __doc__, "Development settings", render, cell, usual={"seed": [0]}, setting=SETTINGS, recipe=RECIPES, seed=SEEDS
    )


if __name__ == "__main__":
    main()
