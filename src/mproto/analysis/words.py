"""What a model makes of single words: the table that maps, cards and plans are drawn from."""

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
"""Words of context on each side, and characters; of a word, twice as many."""


@dataclass(frozen=True, eq=False)
class Words:
    """N words of some documents; classes are numbers, 0 for O and then the model's types.

    Attributes:
        documents: that they are from.
        entities: what the model finds in each of them.
        document: (N,) long, which of them.
        index: (N,) long, and which of its words.
        labels: (N,) long, the class that the documents' spans give; −1 for a type that the model does not know.
        gold: (N,) long, the class that people gave; −1 for such a type, and where people did not label.
        predicted: (N,) long, the class that the model gives.
        scores: (N,) how sure it is.
        features: (N, d).
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
        """The text before a word, the word, and the text behind it."""
        document, index = self.documents[int(self.document[place])], int(self.index[place])
        starts, ends = document.edges
        first, last = max(0, index - width), min(document.word_count, index + width + 1) - 1
        text = document.text
        before, after = text[starts[first] : starts[index]], text[ends[index] : ends[last]]
        return before[-LONGEST:], text[starts[index] : ends[index]][: 2 * LONGEST], after[:LONGEST]


def sample(documents: Sequence[Document], most_words: int, seed: int = 0) -> list[Document]:
    """Documents drawn at random that have no more words together; all of them, in their order, where they have no more.

    A document that does not fit any more is passed over, so that one long one does not keep all the others out.
    """
    worded = [document for document in documents if document.word_count]
    order = random.Random(seed).sample(range(len(worded)), len(worded))
    chosen, left = [], most_words
    for place in order:
        if worded[place].word_count <= left:
            chosen.append(place)
            left -= worded[place].word_count
    return [worded[place] for place in sorted(chosen)]


def look(recognizer: Recognizer, documents: Sequence[Document], *, batch_size: int = 32) -> Words:
    """Read documents with a model, once. There must be a word in them."""
    model = recognizer.model
    tagged = list(recognizer.predict_words(documents, batch_size=batch_size, features=True))
    windows = [window for own, _ in tagged for window in own]
    places = torch.tensor([(w.document, w.start + i) for w in windows for i in range(len(w.firsts))])
    order = torch.argsort(places[:, 0] * (int(places[:, 1].max()) + 1) + places[:, 1])
    document, index = places[order].unbind(-1)
    class_of_tag = torch.tensor(model.class_of_tag)
    numbers = {label: number for number, label in enumerate(model.labels, 1)}
    return Words(
        documents=documents,
        entities=read_entities(documents, tagged, model.tags, model.prototype_names),
        document=document,
        index=index,
        labels=torch.tensor([n for d in documents for n in _classes(d.word_spans, d.word_count, numbers)]),
        gold=torch.tensor([n for d in documents for n in _classes(d.gold_word_spans, d.word_count, numbers)]),
        predicted=class_of_tag[torch.tensor([tag for _, said in tagged for tag in said.tags])[order]],
        scores=torch.tensor([score for _, said in tagged for score in said.scores])[order],
        features=torch.cat([torch.from_numpy(said.features) for _, said in tagged])[order],
    )


def _classes(spans: Iterable[WordSpan] | None, count: int, numbers: dict[str, int]) -> list[int]:
    """The class of each word; −1 where there are no spans to tell, and for types that the model does not know."""
    if spans is None:
        return [-1] * count
    classes = [0] * count
    for start, end, label in spans:
        classes[start:end] = [numbers.get(label, -1)] * (end - start)
    return classes
