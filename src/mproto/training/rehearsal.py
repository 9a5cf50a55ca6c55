"""The first part of a run, with some terms hidden, which ends with an estimate of how much is unlabelled (`shares.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.models.base import UNKNOWN_SHARE
from mproto.recognizer import inference
from mproto.training.schedule import steps_within
from mproto.training.shares import estimate_shares, shares_of
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
        data: the same, made ready.
        model: that learns.
        settings: of the loop.
    """

    def __init__(self, documents: Sequence[Document], data: Data, model: Model, settings: Training) -> None:
        hidden = hide_terms(documents, settings.seed)
        tags = [model.tag_numbers(without(document, hidden)) for document in documents]
        self.full, self.data = data, data.with_tags(tags)
        self._share, self._settings = model.rehearsal_share, settings

    def steps(self, steps: int) -> int:
        """How many of all steps it lasts."""
        return steps_within(self._share, steps)

    def finish(self, model: Model) -> dict[str, float]:
        """Estimate what is unlabelled, tell the model, and say it; with too few hidden words to go by, it is told a guess."""
        generator = torch.Generator().manual_seed(self._settings.seed)
        order = torch.randperm(len(self.full.windows), generator=generator).tolist()
        with_hidden = [i for i in order if self.full.own_tags(i) != self.data.own_tags(i)]
        mixed, _ = self._look(model, order[:LOOKED_AT], hidden=False)
        hidden, classes = self._look(model, with_hidden[:LOOKED_AT], hidden=True)
        counts = self._count(model)
        if len(hidden) < FEWEST or not len(mixed):
            labelled = max(sum(counts[1:]), 1)
            guess = {label: UNKNOWN_SHARE * counts[i] / labelled for i, label in enumerate(model.labels, 1)}
            model.learn_unlabelled(shares_of(UNKNOWN_SHARE, guess, counts))
            return {}
        entities, types = estimate_shares(mixed, hidden, classes, model.labels)
        mine = torch.tensor([entities, *types.values()], dtype=torch.float64) * (model.group.rank == 0)
        entities, *shared = model.group.sum(mine).tolist()  # the first one's: devices may round differently
        types = dict(zip(types, shared, strict=True))
        shares = shares_of(entities, types, counts)
        model.learn_unlabelled(shares)
        found = {"share": entities, "coverage": shares.coverage}
        return found | {f"share.{label}": share for label, share in types.items()}

    def _count(self, model: Model) -> list[int]:
        """The words of each class, O first, as they are labelled."""
        counts = [0] * (len(model.labels) + 1)
        class_of = model.class_of_tag
        for tags in self.full.tags:
            for tag in tags:
                counts[class_of[tag]] += 1
        return counts

    def _look(self, model: Model, chosen: Sequence[int], *, hidden: bool) -> tuple[Tensor, Tensor]:
        """Log-probabilities of classes, and classes: of words without a label, or of words whose label was hidden."""
        class_of = torch.tensor(model.class_of_tag)
        found: list[Tensor] = []
        classes: list[Tensor] = []
        with inference(model):
            for indices in self.full.in_order(chosen, self._settings):
                batch = self.data.batch(indices)
                true = self.full.batch(indices).labels
                assert batch.labels is not None
                assert true is not None
                by_tag = model.decide(batch.to(model.device)).answers[0].exp().cpu()
                by_class = by_tag.new_zeros(len(by_tag), len(model.labels) + 1).index_add_(1, class_of, by_tag)
                wanted = (batch.labels != true) if hidden else (true == 0)
                found.append(by_class[wanted].log())
                classes.append(class_of[true[wanted]])
        empty = torch.zeros(0, len(model.labels) + 1)
        return torch.cat([empty, *found]), torch.cat([class_of[:0], *classes])
