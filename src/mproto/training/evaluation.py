"""Evaluation during a run: on development data that select the weights, and by other measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.errors import InputError
from mproto.text.scoring import score
from mproto.training.selection import Average, Best

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mproto.config.settings import Training
    from mproto.errors import Notes
    from mproto.recognizer import Recognizer
    from mproto.text.document import Document
    from mproto.training.selection import Selection


def check_dev(dev: Sequence[Document], labels: Sequence[str], settings: Training, notes: Notes) -> None:
    """Check that development data can be used.

    Raises:
        InputError: there are none, or they have a type that the training data do not have.
    """
    if not dev:
        raise InputError("there is no development document", hint="check the development data, or leave them out")
    unknown = sorted({span.label for document in dev for span in document.spans} - set(labels))
    if unknown:
        raise InputError(
            f"the development data have types that the training data do not have: {', '.join(unknown)}",
            hint=f"the training data have {', '.join(labels)}; rename the types, or add terms of the missing types",
        )
    if not any(document.spans for document in dev):
        notes.count("development documents have no entity; every checkpoint scores 0", len(dev))
    if settings.selection == "last":
        notes.count("development documents were not used: training.selection is last", len(dev))


def select_weights(recognizer: Recognizer, dev: Sequence[Document] | None, settings: Training) -> Selection:
    """Return the selection of the weights that the settings choose.

    Raises:
        InputError: development data must select them, but there are none.
    """
    name = settings.selection
    if name == "auto":
        name = "last" if dev is None else "dev"
    if name == "last":
        return Average(settings.average)
    if dev is None:
        raise InputError(
            "training.selection is dev, but there are no development data", hint="pass them, or choose last"
        )
    bare = [document.bare() for document in dev]
    return Best(_on_first(recognizer, lambda model: score(zip(dev, model.predict(bare), strict=True)).overall.f1))


def take_measures(
    recognizer: Recognizer, measures: Mapping[str, Callable[[Recognizer], float]]
) -> Callable[[], dict[str, float]]:
    """Return a function that computes all measures."""
    functions = {name: _on_first(recognizer, measure) for name, measure in measures.items()}
    return lambda: {name: measure() for name, measure in functions.items()}


def _on_first(recognizer: Recognizer, measure: Callable[[Recognizer], float]) -> Callable[[], float]:
    """Return a measure that the first process computes and sends to the others."""
    group = recognizer.model.group

    def measured() -> float:
        value = measure(recognizer) if group.rank == 0 else 0.0
        return float(group.broadcast(torch.tensor(value, dtype=torch.float64)))

    return measured
