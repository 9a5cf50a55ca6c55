"""Training mentions that a model takes along, so that it can say later what a new one is like."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from mproto.inference.mentions import Mentions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.recognizer import Recognizer
    from mproto.text.document import Document

OF_EACH_TYPE = 60
MOST_WORDS = 8000
"""Of the documents that they are looked for in."""


def remember(recognizer: Recognizer, documents: Sequence[Document], seed: int) -> Mentions | None:
    """Different mentions of each type, drawn at random; none, where nothing is labelled."""
    chosen, places = _choose(documents, seed)
    if not places:
        return None
    features = {}
    for windows, said in recognizer.predict_words(chosen, features=True):
        rows = [(window.document, window.start + i) for window in windows for i in range(len(window.firsts))]
        features.update({place: said.features[row] for row, place in enumerate(rows) if place in places})
    texts, labels = zip(*places.values(), strict=True)
    return Mentions(list(texts), list(labels), np.stack([features[place] for place in places]))


def _choose(documents: Sequence[Document], seed: int) -> tuple[list[Document], dict[tuple[int, int], tuple[str, str]]]:
    """Some documents, and for the first words of mentions in them (document, word) what these are: (text, type)."""
    order = random.Random(seed).sample(range(len(documents)), len(documents))
    chosen: list[Document] = []
    places: dict[tuple[int, int], tuple[str, str]] = {}
    seen: dict[str, set[str]] = {}
    words = 0
    for document in (documents[place] for place in order):
        new = []
        starts, ends = document.edges
        for start, end, label in document.word_spans:
            text = " ".join(document.text[starts[start] : ends[end - 1]].split())
            own = seen.setdefault(label, set())
            if text.casefold() not in own and len(own) < OF_EACH_TYPE:
                own.add(text.casefold())
                new.append((start, (text, label)))
        if new:
            places |= {(len(chosen), start): mention for start, mention in new}
            chosen.append(document)
            words += document.word_count
        if words > MOST_WORDS:
            break
    return chosen, places
