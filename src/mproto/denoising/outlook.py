"""Which is better: the model, the terms, or both? An estimate without human labels.

The scores of three ways to find entities are estimated, in words:

- *terms*: the labels of the gazetteer;
- *model*: what models find in documents that they have not seen;
- *both*: the same, but the labels of the gazetteer wherever there is one.

Relabelling gives each word a probability for each class, given all evidence. The expected number of right words is the sum
of the probabilities of the classes that a way gives to words; the expected number of entity words is the sum of the
probabilities that a word is not O.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch

from mproto.method.prototypes import OTHER

if TYPE_CHECKING:
    from torch import Tensor

Way = Literal["model", "both", "terms"]
RECOMMENDED, EXPECTED = "recommended", "expected scores"
"""Keys of the model card."""


class Expected(NamedTuple):
    """Expected scores of a way to find entities, by word and type."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True)
class Outlook:
    """Expected scores of the model, the terms, and both.

    Attributes:
        model: of the model alone.
        both: of the model and the terms.
        terms: of the terms alone.
        has_evidence: whether there are enough labels to judge a model at all (`EntityShares.has_evidence`).
    """

    model: Expected
    both: Expected
    terms: Expected
    has_evidence: bool = True

    @property
    def recommended(self) -> Way:
        """The way with the highest expected F1; the terms if the data say too little."""
        if not self.has_evidence:
            return "terms"
        return max(self._ways(), key=lambda way: way[1].f1)[0]  # in a tie, the first

    def as_card(self) -> dict[str, Any]:
        """Return the entries of the model card: the recommendation, and the expected scores."""
        scores = {way: {"precision": one.precision, "recall": one.recall, "f1": one.f1} for way, one in self._ways()}
        return {RECOMMENDED: self.recommended, EXPECTED: scores}

    def _ways(self) -> list[tuple[Way, Expected]]:
        return [("both", self.both), ("model", self.model), ("terms", self.terms)]


def compare(probabilities: Tensor, labels: Tensor, decided: Tensor) -> Outlook:
    """Estimate the scores of the three ways.

    Args:
        probabilities: (N, K) of the classes, O first, after relabelling.
        labels: (N,) long, the distant labels.
        decided: (N,) long, the classes that models find.
    """
    both = torch.where(labels != OTHER, labels, decided)
    model, together, terms = (_expected(probabilities, classes) for classes in (decided, both, labels))
    return Outlook(model, together, terms)


def _expected(probabilities: Tensor, classes: Tensor) -> Expected:
    found = classes != OTHER
    right = probabilities[found, classes[found]].sum().item()
    entities = (1 - probabilities[:, OTHER]).sum().item()
    return Expected(min(1.0, right / max(int(found.sum()), 1)), min(1.0, right / max(entities, 1e-9)))
