"""The cells of every system on every data set, with one encoder, one training loop and one budget.

The main table, the coverage curve and other tables take their cells from here. `mproto` is here the
recipe of version 0.1, which leaves O words out of each step by a threshold. Human labels train
or select a model in two rows only: the fully supervised tagger, and early stopping, which stops on
human development labels as published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.cells import DICTIONARIES, PRECISION, Cell, documents, load_all, once, scores, train_and_score
from mproto import Gazetteer, annotate
from mproto.config import load_config
from mproto.gazetteer import MatchOptions

if TYPE_CHECKING:
    from mproto import Document, Recognizer
    from mproto.config import Config

EPOCHS = {"bc5cdr": 2, "conll03": 1}
"""CoNLL03 has three times as many sentences as BC5CDR."""
PRIORS = {
    "bc5cdr": {"Chemical": 0.0503131, "Disease": 0.0503834},
    "conll03": {"PER": 0.0314966, "LOC": 0.0376881, "ORG": 0.0354240, "MISC": 0.0155021},
}
WEIGHTS = {"bc5cdr": 28, "conll03": 15}
STOPS = 10
"""Evaluations of early stopping during the usual number of steps, on every fourth sentence of dev."""
SEEDS = (0, 1, 2)


def corpus_of(data: str) -> str:
    return data.partition("-")[0]


def budget(data: str, seed: int) -> list[str]:
    """Return the settings that all cells of a data set share."""
    epochs = EPOCHS[corpus_of(data)]
    return [f"training.epochs={epochs}", "mproto.denoising=threshold", f"training.seed={seed}", PRECISION]


def config_of(method: str, data: str, seed: int) -> Config:
    corpus, settings = corpus_of(data), budget(data, seed)
    if method in ("mpn", "mpu", "conf-mpu"):  # constants as published; true priors, from the human labels
        settings += [f"positive_unlabelled.priors.{type_}={prior}" for type_, prior in PRIORS[corpus].items()]
        settings.append(f"positive_unlabelled.weight={WEIGHTS[corpus]}")
    if method == "autoner" and data == "bc5cdr-0.2":
        settings.append(f"autoner.phrases={DICTIONARIES / corpus}")
    if method == "early-stopping":
        steps = EPOCHS[corpus] * len(documents(data, "train")) / 32
        settings += ["early_stopping.share=1.0", f"training.evaluate_every={int(steps / STOPS)}"]
    return load_config(settings=settings, method="tagger" if method == "supervised" else method)


def cell_name(method: str, data: str, seed: int = 0) -> str:
    if method == "supervised":  # human labels do not depend on the size of the dictionary
        data = f"{corpus_of(data)}-1.0"
    return f"systems/{method}-{data}-{seed}"


def exists(method: str, data: str) -> bool:
    """Say whether a system can run: the matching of CoNLL03's knowledge base was never published."""
    return not (method == "dictionary" and data == "conll03-kb")


def cell(method: str, data: str, seed: int = 0) -> Cell | None:
    """Run a system on a data set, or load its cell."""
    if not exists(method, data):
        return None
    return once(cell_name(method, data, seed), lambda: _run(method, data, seed))


def done(method: str, data: str) -> list[Cell]:
    """Load the cells of all seeds that are done."""
    return load_all(cell_name(method, data, seed) for seed in SEEDS)


def _run(method: str, data: str, seed: int) -> Cell:
    if method == "dictionary":
        return _look_up(data)
    corpus = documents(data, "train")
    if method == "supervised":
        corpus = with_human_labels(corpus)
    return train_and_score(
        f"{method} {data} {seed}",
        corpus,
        documents(data, "test"),
        config_of(method, data, seed),
        dev=documents(data, "dev")[::4] if method == "early-stopping" else None,
        combine=(lambda model: _with_terms(model, data)) if exists("dictionary", data) else None,
    )


def with_human_labels(corpus: list[Document]) -> list[Document]:
    """Return the documents with their human labels in place of the distant ones."""
    return [document.with_spans(document.gold or (), None) for document in corpus]


def _with_terms(model: Recognizer, data: str) -> Recognizer:
    """Combine the model with the dictionary, matched letter by letter as in the published labels."""
    return model.with_gazetteer(gazetteer_of(data), "prefer-gazetteer", MatchOptions(case="sensitive"))


def gazetteer_of(data: str) -> Gazetteer:
    corpus, _, fraction = data.partition("-")
    return Gazetteer.load(DICTIONARIES / corpus).head(float(fraction))


def _look_up(data: str) -> Cell:
    """Score the dictionary's own labels of the test sentences."""
    gold = documents(data, "test")
    labelled = annotate([document.bare() for document in gold], gazetteer_of(data), matching="paper")
    return {"seconds": 0, "steps": 0, "test": scores(gold, labelled)}
