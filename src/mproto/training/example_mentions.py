"""Choose example mentions from the training data, which the model later compares new entities with."""

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
"""Maximum number of mentions of each type."""
MOST_WORDS = 8000
"""No further documents are used once they have more words than this."""


def remember(recognizer: Recognizer, documents: Sequence[Document], seed: int) -> Mentions | None:
    """Return different mentions of each type, drawn at random; None if no word is labelled."""
    chosen, mentions = _choose(documents, seed)
    if not mentions:
        return None
    features = {}
    for windows, tagged in recognizer.predict_words(chosen, features=True):
        words = [(window.document, window.start + i) for window in windows for i in range(len(window.firsts))]
        features.update({word: tagged.features[row] for row, word in enumerate(words) if word in mentions})
    texts, labels = zip(*mentions.values(), strict=True)
    return Mentions(list(texts), list(labels), np.stack([features[word] for word in mentions]))


def _choose(documents: Sequence[Document], seed: int) -> tuple[list[Document], dict[tuple[int, int], tuple[str, str]]]:
    """Return some documents and their mentions, as (document, first word): (text, type)."""
    order = random.Random(seed).sample(range(len(documents)), len(documents))
    chosen: list[Document] = []
    mentions: dict[tuple[int, int], tuple[str, str]] = {}
    seen: dict[str, set[str]] = {}
    words = 0
    for document in (documents[index] for index in order):
        new = []
        starts, ends = document.edges
        for start, end, label in document.word_spans:
            text = " ".join(document.text[starts[start] : ends[end - 1]].split())
            known = seen.setdefault(label, set())
            if text.casefold() not in known and len(known) < OF_EACH_TYPE:
                known.add(text.casefold())
                new.append((start, (text, label)))
        if new:
            mentions |= {(len(chosen), start): mention for start, mention in new}
            chosen.append(document)
            words += document.word_count
        if words > MOST_WORDS:
            break
    return chosen, mentions
