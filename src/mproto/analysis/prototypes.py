"""Prototype cards: what each prototype stands for, told by the words nearest to it; and where transport sends O words."""

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

    from mproto.analysis.words import Words
    from mproto.models.base import Model

NEAREST = 12
AT_ONCE = 1000
"""O words that are transported together, about as many as in a training step."""


class Neighbour(NamedTuple):
    """A word near a prototype, in its context."""

    before: str
    word: str
    after: str
    similarity: float


@dataclass(frozen=True)
class Card:
    """A prototype.

    Attributes:
        name: such as `Disease-2`.
        number: of its class.
        served: words that have no nearer prototype.
        labelled: those of them that the dictionary labels with its class.
        nearest: different words, the nearest first.
    """

    name: str
    number: int
    served: int
    labelled: int
    nearest: tuple[Neighbour, ...]


def prototype_model(model: Model) -> MProtoModel | None:
    """The model with prototypes, if it is or holds one."""
    inner = model.student if isinstance(model, SelfTrainingModel) else model
    return inner if isinstance(inner, MProtoModel) else None


def prototype_cards(model: MProtoModel, words: Words) -> list[Card]:
    """A card for every prototype of the bank."""
    similarity = _similarity(model, words)
    nearest = similarity.argmax(-1)
    class_of = model.bank.class_of.cpu()
    cards = []
    for place, name in enumerate(model.prototype_names):
        served = nearest == place
        number = int(class_of[place])
        cards.append(
            Card(
                name,
                number,
                int(served.sum()),
                int((served & (words.labels == number)).sum()),
                _nearest(words, similarity[:, place], torch.nonzero(served).squeeze(-1)),
            )
        )
    return cards


def _nearest(words: Words, similarity: Tensor, served: Tensor) -> tuple[Neighbour, ...]:
    found: dict[str, Neighbour] = {}
    for place in served[similarity[served].argsort(descending=True)].tolist():
        before, word, after = words.context(place)
        found.setdefault(word.casefold(), Neighbour(before, word, after, float(similarity[place])))
        if len(found) == NEAREST:
            break
    return tuple(found.values())


class Flow(NamedTuple):
    """Where denoised transport sends the words that are labelled O.

    Attributes:
        counts: (K, K) long: words of each class, and of the class of the prototype that they are assigned to.
        by_people: whether the first is by people's labels (of the words that they labelled), and not by the model.
    """

    counts: Tensor
    by_people: bool


def flow(model: MProtoModel, words: Words) -> Flow:
    """Assign the O words as a training step would, some at a time."""
    by_people = any(document.gold is not None for document in words.documents)
    true = words.gold if by_people else words.predicted
    other = torch.nonzero((words.labels == OTHER) & (true >= 0)).squeeze(-1)
    true = true[other]
    similarity, class_of = _similarity(model, words)[other], model.bank.class_of.cpu()
    classes = len(model.labels) + 1
    counts = torch.zeros(classes, classes, dtype=torch.long)
    order = torch.randperm(len(other), generator=torch.Generator().manual_seed(0))
    ids = _word_ids(model, words, other)
    for part in torch.split(order, AT_ONCE):
        columns = similarity[part], torch.zeros_like(part), ids[part], torch.zeros_like(part, dtype=torch.bool)
        step = StepWords(*(column.to(model.device) for column in columns))
        assigned = model.denoiser.assign(step, model.bank.class_of, progress=1.0).assignment.target.cpu()
        counts += torch.bincount(true[part] * classes + class_of[assigned], minlength=classes**2).view(classes, classes)
    return Flow(counts, by_people)


def _word_ids(model: MProtoModel, words: Words, chosen: Tensor) -> Tensor:
    """Return the ids of some words in the vocabulary of the training data."""
    ids = [model.word_ids.find(document.word_texts) for document in words.documents]
    places = zip(words.document[chosen].tolist(), words.index[chosen].tolist(), strict=True)
    return torch.tensor([ids[document][index] for document, index in places], dtype=torch.long)


@torch.no_grad()
def _similarity(model: MProtoModel, words: Words) -> Tensor:
    return model.bank.similarity(words.features.to(model.device)).cpu()
