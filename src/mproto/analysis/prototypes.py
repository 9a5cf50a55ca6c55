"""Prototypes and their nearest words, and the words labelled O that training leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.denoising.base import StepWords
from mproto.method.prototypes import OTHER
from mproto.models.baselines.self_training import SelfTrainingModel
from mproto.models.mproto import MProtoModel

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.analysis.word_table import WordTable
    from mproto.models.base import Model

NEAREST = 12
"""The number of words shown for a prototype."""
WORDS_PER_STEP = 1000
"""The number of O words that are assigned together: about as many as in a training step."""


class NearestWord(NamedTuple):
    """A word near a prototype, its context, and its similarity to the prototype."""

    before: str
    word: str
    after: str
    similarity: float


@dataclass(frozen=True)
class PrototypeCard:
    """A prototype, described by its words.

    Attributes:
        name: its name, for example `Disease-2`.
        class_number: its class.
        words: the number of words that are nearest to it.
        labelled: the number of these words that the gazetteer labels with its class.
        nearest: the nearest of these words, each form once.
    """

    name: str
    class_number: int
    words: int
    labelled: int
    nearest: tuple[NearestWord, ...]


def prototype_model(model: Model) -> MProtoModel | None:
    """Return the model, or the student of self-training, if it has prototypes."""
    inner = model.student if isinstance(model, SelfTrainingModel) else model
    return inner if isinstance(inner, MProtoModel) else None


def prototype_cards(model: MProtoModel, words: WordTable) -> list[PrototypeCard]:
    """Return a card for every prototype."""
    similarity = _similarity(model, words)
    nearest = similarity.argmax(-1)
    class_of = model.bank.class_of.cpu()
    cards = []
    for place, name in enumerate(model.prototype_names):
        own = nearest == place
        number = int(class_of[place])
        cards.append(
            PrototypeCard(
                name,
                number,
                int(own.sum()),
                int((own & (words.labels == number)).sum()),
                _nearest(words, similarity[:, place], torch.nonzero(own).squeeze(-1)),
            )
        )
    return cards


def _nearest(words: WordTable, similarity: Tensor, own: Tensor) -> tuple[NearestWord, ...]:
    found: dict[str, NearestWord] = {}
    for place in own[similarity[own].argsort(descending=True)].tolist():
        before, word, after = words.context(place)
        found.setdefault(word.casefold(), NearestWord(before, word, after, float(similarity[place])))
        if len(found) == NEAREST:
            break
    return tuple(found.values())


class Reassignment(NamedTuple):
    """The classes that denoising assigns to words labelled O.

    Training leaves out those that are not assigned to O.

    Attributes:
        counts: (K, K) long, the number of words of each class (rows) that are assigned to a
            prototype of each class (columns).
        human_labelled: whether the rows are human labels; documents without them are then ignored.
            If not, the rows are predictions.
    """

    counts: Tensor
    human_labelled: bool


def reassign(model: MProtoModel, words: WordTable) -> Reassignment:
    """Assign the words labelled O to prototypes, in random groups of the size of a step."""
    human_labelled = any(document.gold is not None for document in words.documents)
    true = words.gold if human_labelled else words.predicted
    other = torch.nonzero((words.labels == OTHER) & (true >= 0)).squeeze(-1)
    true = true[other]
    similarity, class_of = _similarity(model, words)[other], model.bank.class_of.cpu()
    classes = len(model.labels) + 1
    counts = torch.zeros(classes, classes, dtype=torch.long)
    order = torch.randperm(len(other), generator=torch.Generator().manual_seed(0))
    ids = _word_ids(model, words, other)
    for part in torch.split(order, WORDS_PER_STEP):
        columns = similarity[part], torch.zeros_like(part), ids[part], torch.zeros_like(part, dtype=torch.bool)
        step = StepWords(*(column.to(model.device) for column in columns))
        assigned = model.denoiser.assign(step, model.bank.class_of, progress=1.0).assignment.target.cpu()
        counts += torch.bincount(true[part] * classes + class_of[assigned], minlength=classes**2).view(classes, classes)
    return Reassignment(counts, human_labelled)


def _word_ids(model: MProtoModel, words: WordTable, chosen: Tensor) -> Tensor:
    """Return the ids of some words in the vocabulary of the training data."""
    ids = [model.word_ids.find(document.word_texts) for document in words.documents]
    places = zip(words.document[chosen].tolist(), words.index[chosen].tolist(), strict=True)
    return torch.tensor([ids[document][index] for document, index in places], dtype=torch.long)


@torch.no_grad()
def _similarity(model: MProtoModel, words: WordTable) -> Tensor:
    return model.bank.similarity(words.features.to(model.device)).cpu()
