"""Every system on every data set: one encoder, one loop, one budget. Tables and curves take their cells from here.

No human label is used to train or to choose anything, with two exceptions, which are the point of their rows: the fully
supervised model, and early stopping, which human development labels stop, as published. A finished cell is a JSON file in
results/systems and is not run again; an interrupted one goes on from its last checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.cells import DICTIONARIES, PRECISION, Cell, documents, load, once, train_in_folder
from mproto import Gazetteer, annotate, score
from mproto.config import load_config
from mproto.gazetteer import MatchOptions

if TYPE_CHECKING:
    from mproto import Recognizer
    from mproto.config import Config

EPOCHS = {"bc5cdr": 2, "conll03": 1}
"""CoNLL03 has three times as many sentences."""
PRIORS = {
    "bc5cdr": {"Chemical": 0.0503131, "Disease": 0.0503834},
    "conll03": {"PER": 0.0314966, "LOC": 0.0376881, "ORG": 0.0354240, "MISC": 0.0155021},
}
WEIGHTS = {"bc5cdr": 28, "conll03": 15}
STOPS = 10
"""Evaluations of early stopping, each on every fourth development sentence, spread over as many steps as all others take."""


def corpus_of(data: str) -> str:
    return data.partition("-")[0]


def budget(data: str, seed: int) -> list[str]:
    """The settings that all cells of a data set share."""
    epochs = EPOCHS[corpus_of(data)]
    return [f"training.epochs={epochs}", "training.min_steps=0", f"training.seed={seed}", PRECISION]


def config_of(method: str, data: str, seed: int) -> Config:
    corpus, settings = corpus_of(data), budget(data, seed)
    name = {"supervised": "tagger", "mproto+self-training": "self-training"}.get(method, method)
    if method in ("mpn", "mpu", "conf-mpu"):  # the constants of the publication, the priors known from human labels
        settings += [f"positive_unlabelled.priors.{type_}={prior}" for type_, prior in PRIORS[corpus].items()]
        settings.append(f"positive_unlabelled.weight={WEIGHTS[corpus]}")
    if method == "autoner" and data == "bc5cdr-0.2":
        settings.append(f"autoner.phrases={DICTIONARIES / corpus}")
    if method == "early-stopping":
        steps = EPOCHS[corpus] * len(documents(data, "train")) / 32
        settings += ["early_stopping.share=1.0", f"training.evaluate_every={int(steps / STOPS)}"]
    if method == "mproto+self-training":
        settings.append("self_training.on=mproto")
    return load_config(settings=settings, method=name)


def cell_name(method: str, data: str, seed: int) -> str:
    return f"systems/{method}-{_same_as(method, data)}-{seed}"


def _same_as(method: str, data: str) -> str:
    """The data set of the same model's cell: human labels are the same however many terms a dictionary has."""
    return data if method != "supervised" else f"{corpus_of(data)}-1.0"


def exists(method: str, data: str) -> bool:
    return not (method == "dictionary" and data == "conll03-kb")  # how those labels were made was never published


def cell(method: str, data: str, seed: int) -> Cell:
    """The result of a system, worked out if it is not there."""
    return once(cell_name(method, data, seed), lambda: _run(method, _same_as(method, data), seed))


def found(method: str, data: str, seed: int = 0) -> Cell | None:
    """The result of a system, if it is there."""
    return load(cell_name(method, data, seed))


def _run(method: str, data: str, seed: int) -> Cell:
    if method == "dictionary":
        return _look_up(data)
    train = documents(data, "train")
    if method == "supervised":
        train = [document.with_spans(document.gold or (), None) for document in train]
    dev = documents(data, "dev")[::4] if method == "early-stopping" else None
    config = config_of(method, data, seed)
    test = documents(data, "test")
    beside = None if not exists("dictionary", data) else lambda model: _with_terms(model, data)
    return train_in_folder(f"{method} {data} {seed}", train, dev, test, config, beside=beside)


def _with_terms(model: Recognizer, data: str) -> Recognizer:
    """The dictionary beside the model, matched letter by letter as in the labels that it learnt from."""
    return model.with_gazetteer(gazetteer_of(data), "prefer-gazetteer", MatchOptions(case="sensitive"))


def gazetteer_of(data: str) -> Gazetteer:
    corpus, _, fraction = data.partition("-")
    return Gazetteer.load(DICTIONARIES / corpus).head(float(fraction))


def _look_up(data: str) -> Cell:
    """The dictionary's own labels of the test sentences."""
    gold = documents(data, "test")
    labelled = annotate([document.bare() for document in gold], gazetteer_of(data), matching="paper")
    return {"seconds": 0, "steps": 0, "test": score(zip(gold, labelled, strict=True)).as_dict()}


def overall(cell: Cell) -> dict[str, float]:
    """Precision, recall and F1 on test, in percent."""
    return {key: 100 * cell["test"]["overall"][key] for key in ("precision", "recall", "f1")}
