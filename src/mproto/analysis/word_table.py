"""A table of words with labels, predictions and features, the data behind a report."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from mproto.inference.entities import read_entities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from mproto.recognizer import Entity, Recognizer
    from mproto.text.document import Document, WordSpan

WIDTH, LONGEST = 6, 60
"""Words and characters of context on each side. A word itself is cut after twice as many
characters."""


@dataclass(frozen=True, eq=False)
class WordTable:
    """The N words of some documents. Classes are numbers: 0 for O, then the model's types in order.

    Attributes:
        documents: the documents.
        entities: the model's entities in each document.
        document: (N,) long, the index of each word's document.
        index: (N,) long, the index of the word in its document.
        labels: (N,) long, the class by the documents' spans; −1 for types that the model does not
            have.
        gold: (N,) long, the class by human labels; −1 for types that the model does not have, and
            in documents without human labels.
        predicted: (N,) long, the predicted class.
        scores: (N,) the score of the prediction, from 0 to 1.
        features: (N, d) the features.
    """

    documents: Sequence[Document]
    entities: Sequence[Sequence[Entity]]
    document: Tensor
    index: Tensor
    labels: Tensor
    gold: Tensor
    predicted: Tensor
    scores: Tensor
    features: Tensor

    def __len__(self) -> int:
        return len(self.document)

    def context(self, place: int, width: int = WIDTH) -> tuple[str, str, str]:
        """Return the text before a word, the word, and the text after it.

        Args:
            place: the index of the word in the table.
            width: words of context on each side.
        """
        document, index = self.documents[int(self.document[place])], int(self.index[place])
        starts, ends = document.edges
        first, last = max(0, index - width), min(document.word_count, index + width + 1) - 1
        text = document.text
        before, after = text[starts[first] : starts[index]], text[ends[index] : ends[last]]
        return before[-LONGEST:], text[starts[index] : ends[index]][: 2 * LONGEST], after[:LONGEST]


def sample_documents(documents: Sequence[Document], most_words: int, seed: int = 0) -> list[Document]:
    """Return a random sample of documents with at most `most_words` words, in their order.

    A document that would exceed the limit is skipped, so that one long document does not exclude
    all others. Documents without words are left out.
    """
    candidates = [document for document in documents if document.word_count]
    order = random.Random(seed).sample(range(len(candidates)), len(candidates))
    chosen, left = [], most_words
    for place in order:
        if candidates[place].word_count <= left:
            chosen.append(place)
            left -= candidates[place].word_count
    return [candidates[place] for place in sorted(chosen)]


def read_words(recognizer: Recognizer, documents: Sequence[Document], *, batch_size: int = 32) -> WordTable:
    """Tag documents once, and return the table of their words. There must be at least one word."""
    model = recognizer.model
    tagged = list(recognizer.predict_words(documents, batch_size=batch_size, features=True))
    windows = [window for batch, _ in tagged for window in batch]
    places = torch.tensor([(w.document, w.start + i) for w in windows for i in range(len(w.firsts))])
    order = torch.argsort(places[:, 0] * (int(places[:, 1].max()) + 1) + places[:, 1])
    document, index = places[order].unbind(-1)
    class_of_tag = torch.tensor(model.class_of_tag)
    numbers = {label: number for number, label in enumerate(model.labels, 1)}
    return WordTable(
        documents=documents,
        entities=read_entities(documents, tagged, model.tags, model.prototype_names),
        document=document,
        index=index,
        labels=torch.tensor([n for d in documents for n in _classes(d.word_spans, d.word_count, numbers)]),
        gold=torch.tensor([n for d in documents for n in _classes(d.gold_word_spans, d.word_count, numbers)]),
        predicted=class_of_tag[torch.tensor([tag for _, columns in tagged for tag in columns.tags])[order]],
        scores=torch.tensor([score for _, columns in tagged for score in columns.scores])[order],
        features=torch.cat([torch.from_numpy(columns.features) for _, columns in tagged])[order],
    )


def _classes(spans: Iterable[WordSpan] | None, count: int, numbers: dict[str, int]) -> list[int]:
    """Return the class of each word; −1 without spans, and for types the model does not have."""
    if spans is None:
        return [-1] * count
    classes = [0] * count
    for start, end, label in spans:
        classes[start:end] = [numbers.get(label, -1)] * (end - start)
    return classes
