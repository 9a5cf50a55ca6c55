"""The first part of a run, with some terms hidden, which ends with an estimate of how much is unlabelled (`shares.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.method.prototypes import OTHER
from mproto.models.base import UNKNOWN_SHARE
from mproto.recognizer import inference
from mproto.training.schedule import steps_within
from mproto.training.shares import doubtful_share, log_odds, mixture_share, shares_of, type_shares
from mproto.training.terms import hide_terms, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mproto.models.base import Model
    from mproto.settings import Training
    from mproto.text.document import Document
    from mproto.training.data import Data

LOOKED_AT = 2000
"""Windows that the estimate is made from, and as many with hidden words."""
FEWEST = 20
"""Hidden words that an estimate needs."""


class Rehearsal:
    """What is learnt from at first, and what it is good for.

    Args:
        documents: with all labels.
        data: the same, made ready, and after them those that people labelled, of which nothing is hidden.
        model: that learns.
        settings: of the loop.
    """

    def __init__(self, documents: Sequence[Document], data: Data, model: Model, settings: Training) -> None:
        hidden = hide_terms(documents, settings.seed)
        tags = [model.tag_numbers(without(document, hidden)) for document in documents]
        tags += data.tags[len(documents) :]
        self.full, self.data = data, data.with_tags(tags)
        self._share, self._settings = model.rehearsal_share if documents else 0.0, settings

    def steps(self, steps: int) -> int:
        """How many of all steps it lasts; none, where people labelled everything."""
        return steps_within(self._share, steps)

    def finish(self, model: Model) -> dict[str, float]:
        """Estimate what is unlabelled, tell the model, and say it; with too few hidden words to go by, it is told a guess."""
        counts = self._count(model)
        if not self._share:
            model.learn_unlabelled(shares_of(0.0, 0.0, dict.fromkeys(model.labels, 0.0), counts))
            return {}
        looked = self._look(model)
        mixed, hidden = looked.true == OTHER, looked.true != looked.seen
        if int(hidden.sum()) < FEWEST or not bool(mixed.any()):
            labelled = max(sum(counts[1:]), 1)
            guess = {label: UNKNOWN_SHARE * counts[i] / labelled for i, label in enumerate(model.labels, 1)}
            model.learn_unlabelled(shares_of(UNKNOWN_SHARE, UNKNOWN_SHARE, guess, counts))
            return {}
        odds = log_odds(looked.answers, looked.words)
        entities = mixture_share(odds[mixed], odds[hidden])
        doubtful = doubtful_share(odds[mixed], odds[hidden], entities)
        types = type_shares(looked.answers[mixed], looked.answers[hidden], looked.true[hidden], model.labels, entities)
        mine = torch.tensor([entities, doubtful, *types.values()], dtype=torch.float64) * (model.group.rank == 0)
        entities, doubtful, *shared = model.group.sum(mine).tolist()  # the first one's: devices may round differently
        types = dict(zip(types, shared, strict=True))
        shares = shares_of(entities, doubtful, types, counts)
        model.learn_unlabelled(shares)
        found = {"share": entities, "doubtful": doubtful, "coverage": shares.coverage}
        return found | {f"share.{label}": share for label, share in types.items()}

    def _count(self, model: Model) -> list[int]:
        """The words of each class, O first, as the dictionary labels them, or people, if they labelled everything."""
        counts = [0] * (len(model.labels) + 1)
        class_of = model.class_of_tag
        for tags, certain in zip(self.full.tags, self.full.certain, strict=True):
            for tag in () if certain and self._share else tags:
                counts[class_of[tag]] += 1
        return counts

    def _look(self, model: Model) -> _Looked:
        """What the model makes of some windows, among them as many with hidden terms as there are."""
        generator = torch.Generator().manual_seed(self._settings.seed)
        order = torch.randperm(len(self.full.windows), generator=generator).tolist()
        order = [i for i in order if not self.full.certain[self.full.windows[i].document]]
        with_hidden = [i for i in order if self.full.own_tags(i) != self.data.own_tags(i)]
        class_of = torch.tensor(model.class_of_tag)
        parts: list[_Looked] = []
        with inference(model):
            for chosen, only_hidden in ((order[:LOOKED_AT], False), (with_hidden[:LOOKED_AT], True)):
                for indices in self.full.in_order(chosen, self._settings):
                    batch = self.data.batch(indices)
                    true = self.full.batch(indices).labels
                    assert batch.labels is not None
                    assert batch.words is not None
                    assert true is not None
                    by_tag = model.decide(batch.to(model.device)).answers[0].exp().cpu()
                    by_class = by_tag.new_zeros(len(by_tag), len(model.labels) + 1).index_add_(1, class_of, by_tag)
                    hidden = batch.labels != true
                    part = _Looked(by_class.log(), class_of[true], class_of[batch.labels], batch.words)
                    parts.append(part.only(hidden) if only_hidden else part.only(~hidden))
        return _Looked(*(torch.cat(values) for values in zip(*parts, strict=True)))


class _Looked(NamedTuple):
    """N words.

    Attributes:
        answers: (N, K) log-probabilities of the classes.
        true: (N,) long, the classes that they are labelled with.
        seen: (N,) long, those that the model learnt: O for hidden terms.
        words: (N,) long, a number for each word.
    """

    answers: Tensor
    true: Tensor
    seen: Tensor
    words: Tensor

    def only(self, rows: Tensor) -> _Looked:
        return _Looked(*(values[rows] for values in self))
