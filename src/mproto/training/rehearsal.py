"""The first part of a run, with some terms hidden, which ends with an estimate of how much is unlabelled (`shares.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.recognizer import inference
from mproto.training.shares import estimate_shares
from mproto.training.terms import hide_terms, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mproto.config import Training
    from mproto.models.base import Model
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
        """How many of all steps it lasts: those that begin before its share of training is over."""
        return sum(step / steps < self._share for step in range(steps))

    def finish(self, model: Model) -> dict[str, float]:
        """Estimate what is unlabelled, tell the model, and say it; with too few hidden words to go by, nothing."""
        generator = torch.Generator().manual_seed(self._settings.seed)
        order = torch.randperm(len(self.full.windows), generator=generator).tolist()
        with_hidden = [i for i in order if self.full.own_tags(i) != self.data.own_tags(i)]
        mixed, _ = self._look(model, order[:LOOKED_AT], hidden=False)
        hidden, classes = self._look(model, with_hidden[:LOOKED_AT], hidden=True)
        if len(hidden) < FEWEST or not len(mixed):
            return {}
        shares = estimate_shares(mixed, hidden, classes, model.labels)
        model.learn_unlabelled(shares.entities)
        return {"share": shares.entities} | {f"share.{label}": share for label, share in shares.types.items()}

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
                by_tag = model.predict(batch.to(model.device)).probabilities.cpu()
                by_class = by_tag.new_zeros(len(by_tag), len(model.labels) + 1).index_add_(1, class_of, by_tag)
                wanted = (batch.labels != true) if hidden else (true == 0)
                found.append(by_class[wanted].log())
                classes.append(class_of[true[wanted]])
        empty = torch.zeros(0, len(model.labels) + 1)
        return torch.cat([empty, *found]), torch.cat([class_of[:0], *classes])
