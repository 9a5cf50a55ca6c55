"""The first part of a run, with some words kept aside; at its end it is estimated how much is unlabelled (`shares.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.denoising.estimate import UNKNOWN_SHARE, log_odds, shares_of, type_shares
from mproto.method.prototypes import OTHER
from mproto.models.base import inference
from mproto.training.schedule import steps_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mproto.config.settings import Training
    from mproto.models.base import Model
    from mproto.training.data import Data

ONE_OF = 4
"""Of so many words, one is kept aside."""
LOOKED_AT, MORE_LOOKED_AT = 2000, 1000
"""Windows that the estimate is made from, and further ones with a label of a word that was kept aside."""


class Rehearsal:
    """What is learnt from at first, and what it is good for.

    Args:
        full: what is learnt from in the end.
        model: that learns.
        settings: of the loop.
    """

    def __init__(self, full: Data, model: Model, settings: Training) -> None:
        self.full = full
        self.aside = choose_words(full.words, settings.seed)
        self.data = full.without(self.aside)
        self._share = 0.0 if all(full.certain) else model.rehearsal_share
        self._settings = settings

    def steps(self, steps: int) -> int:
        """How many of all steps it lasts; none, where people labelled everything."""
        return steps_within(self._share, steps)

    def finish(self, model: Model) -> dict[str, float]:
        """Estimate what is unlabelled, tell the model, and say it; with too few labels to go by, it is told a guess."""
        counts, by_people = self._count(model, certain=False), self._count(model, certain=True)
        if not self._share:
            model.learn_unlabelled(shares_of(dict.fromkeys(model.labels, 0.0), 0.0, by_people))
            return {}
        looked, size = self._look(model)
        found = type_shares(log_odds(looked.answers, looked.words), looked.classes, size, model.price, counts)
        if found is None:
            known = counts[1:] if any(counts[1:]) else by_people[1:]
            guess = {
                label: UNKNOWN_SHARE * count / sum(known) for label, count in zip(model.labels, known, strict=True)
            }
            model.learn_unlabelled(shares_of(guess, UNKNOWN_SHARE, counts, by_people))
            return {}
        mine = torch.tensor([found[1], *found[0].tolist()], dtype=torch.float64) * (model.group.rank == 0)
        doubtful, *by_type = model.group.sum(mine).tolist()  # the first one's: devices may round differently
        types = dict(zip(model.labels, by_type, strict=True))
        shares = shares_of(types, doubtful, counts, by_people)
        model.learn_unlabelled(shares)
        told = {"share": shares.entities, "doubtful": shares.doubtful, "coverage": shares.coverage}
        return told | {f"share.{label}": share for label, share in types.items()}

    def _count(self, model: Model, *, certain: bool) -> list[int]:
        """The words of each class, O first, as people labelled them (`certain`), or the dictionary."""
        counts = [0] * (len(model.labels) + 1)
        class_of = model.class_of_tag
        for tags, by_people in zip(self.full.tags, self.full.certain, strict=True):
            for tag in tags if by_people == certain else ():
                counts[class_of[tag]] += 1
        return counts

    def _look(self, model: Model) -> tuple[_Looked, float]:
        """What the model makes of words that were kept aside; and how many should have no label, as many others have."""
        generator = torch.Generator().manual_seed(self._settings.seed)
        order = torch.randperm(len(self.full.windows), generator=generator).tolist()
        order = [i for i in order if not self.full.certain[self.full.windows[i].document]]
        others = [i for i in order[LOOKED_AT:] if self._has_label_aside(i)][:MORE_LOOKED_AT]
        class_of = torch.tensor(model.class_of_tag)
        parts: list[_Looked] = []
        without_label = 0
        with inference(model):
            for chosen, only_labelled in ((order[:LOOKED_AT], False), (others, True)):
                for indices in self.full.in_order(chosen, self._settings):
                    batch = self.full.batch(indices)
                    assert batch.labels is not None
                    assert batch.words is not None
                    by_tag = model.decide(batch.to(model.device)).answers[0].exp().cpu()
                    by_class = by_tag.new_zeros(len(by_tag), len(model.labels) + 1).index_add_(1, class_of, by_tag)
                    classes = class_of[batch.labels]
                    wanted = self.aside[batch.words] & (classes != OTHER if only_labelled else True)
                    parts.append(_Looked(by_class.log(), classes, batch.words).only(wanted))
                    without_label += 0 if only_labelled else int((classes == OTHER).sum())
        return _Looked(*(torch.cat(values) for values in zip(*parts, strict=True))), without_label / ONE_OF

    def _has_label_aside(self, index: int) -> bool:
        window = self.full.windows[index]
        words = self.full.words[window.document][window.start : window.start + len(window.firsts)]
        labelled = [word for tag, word in zip(self.full.own_tags(index), words, strict=True) if tag]
        return bool(self.aside[labelled].any())


def choose_words(words: Sequence[Sequence[int]], seed: int) -> Tensor:
    """One word of four, (V,) bool, among frequent and among rare ones alike.

    Args:
        words: the number of every word, by document and place.
        seed: of the choice.
    """
    counts = torch.bincount(torch.tensor([number for own in words for number in own], dtype=torch.long))
    order = counts.argsort(descending=True, stable=True)
    generator = torch.Generator().manual_seed(seed)
    first = torch.arange(0, len(order), ONE_OF)
    chosen = first + torch.randint(ONE_OF, (len(first),), generator=generator)
    aside = torch.zeros(len(order), dtype=torch.bool)
    aside[order[chosen[chosen < len(order)]]] = True
    return aside


class _Looked(NamedTuple):
    """N words that were kept aside.

    Attributes:
        answers: (N, K) log-probabilities of the classes.
        classes: (N,) long, those that they are labelled with.
        words: (N,) long, a number for each word.
    """

    answers: Tensor
    classes: Tensor
    words: Tensor

    def only(self, rows: Tensor) -> _Looked:
        return _Looked(*(values[rows] for values in self))
