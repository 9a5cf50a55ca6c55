"""A small training run that several tests share."""

from __future__ import annotations

from copy import copy
from functools import cache

from encoders import embedded
from mproto import Recognizer, annotate, demo, train
from mproto.config import Config, load_config
from mproto.denoising.outlook import Expected, Outlook, Way
from mproto.models.base import Model, Stage
from mproto.models.mproto import ROUNDS
from mproto.persistence.card import EXPECTED, RECOMMENDED
from mproto.text import Document
from mproto.training.cross_fitting import FOLDS, LENGTH, MIN_WINDOWS, PARTS
from mproto.training.data import Data
from mproto.training.loop import Loop
from mproto.training.schedule import Schedule
from mproto.training.selection import Average

JUDGES = (Stage(LENGTH, counts=False),) * (ROUNDS * FOLDS)
SMALL = ("training.epochs=0", "training.min_steps=6", "training.batch_size=8", "training.learning_rate=5e-4")


def small_config(*settings: str, method: str = "mproto", preset: str = "default", encoder: str | None = None) -> Config:
    return load_config(preset, settings=[*SMALL, *settings], method=method, encoder=encoder)


def all_steps(length: int, documents: int = 48) -> int:
    """Return the number of steps of a run of the default method.

    Args:
        length: number of steps of a stage whose share is 1, at least 4.
        documents: number of short training documents; if they are few, only one model follows the judges.
    """
    parts = PARTS if documents >= MIN_WINDOWS else 1
    own = [Stage(1.0 if parts == 1 else (parts - 1) / parts)] * parts
    return Schedule([*JUDGES, *own], length, 0).steps


def judge_steps(length: int) -> int:
    """Return how many of these steps train judges."""
    return Schedule(JUDGES, length, 0).steps


def labelled(count: int = 48) -> list[Document]:
    """Return sentences of the bundled corpus with distant labels."""
    return _all_labelled()[:count]


@cache
def _all_labelled() -> list[Document]:
    return list(annotate(demo.documents("train"), demo.gazetteer()))


def prepare(model: Model, data: Data) -> None:
    """Prepare a model with its training data, as before the first step."""
    Loop(model, data, small_config().training, Average(0.0)).start()


def small_model(method: str = "mproto") -> Recognizer:
    """Return a model trained on a few sentences. Tests must not train it further."""
    return _small_model(method)


def recommending(way: Way | None) -> Recognizer:
    """Return the small model as if its training had recommended this way to find entities, or none."""
    other = copy(small_model())
    other.card = {key: value for key, value in other.card.items() if key not in (RECOMMENDED, EXPECTED)}
    if way:
        best, worse = Expected(0.875, 0.75), Expected(0.5, 0.25)
        model, both, terms = (best if one == way else worse for one in ("model", "both", "terms"))
        other.card |= Outlook(model=model, both=both, terms=terms).as_card()
    return other


@cache
def _small_model(method: str) -> Recognizer:
    """Separate from `small_model`, so that the cache gets the argument even if it is the default."""
    embedded()  # skips where the encoder is missing
    return train(labelled(), config=small_config(method=method)).recognizer
