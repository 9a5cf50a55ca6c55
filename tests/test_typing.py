"""Calls return at run time what their types promise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from inspect import getsource
from typing import Any

import pytest

import typing_checks
from mproto import Document, Entity, Span
from mproto.inference.pipeline import Pipeline


class Finder(Pipeline):
    """Finds one entity in every text."""

    labels = ("Chemical",)
    mentions = terms = None

    def predict_entities(self, documents: Sequence[Document], **options: Any) -> list[list[Entity]]:
        return [[Entity(Span(0, 7, "Chemical"), 1.0)] for _ in documents]


def shape(found: object) -> str:
    """Return the type of a result as `typing_checks` writes it."""
    if isinstance(found, dict):
        return "dict[str, Any]"
    if isinstance(found, Iterator):
        return f"Iterator[{shape(next(found))}]"
    assert isinstance(found, list)
    if isinstance(found[0], dict) and "ents" not in found[0]:
        return "Entities"
    return f"list[{shape(found[0])}]"


@pytest.mark.parametrize("calls", [typing_checks.calls_with_texts, typing_checks.calls_with_words])
def test_calls_return_what_their_types_say(calls: Callable[..., Iterator[Any]]) -> None:
    promised = re.findall(r"yield assert_type\(ner\(.*\), (.*)\)\n", getsource(calls))
    assert len(promised) >= 8
    assert [shape(found) for found in calls(Finder())] == promised
