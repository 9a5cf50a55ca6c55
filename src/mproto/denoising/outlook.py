"""Which is better: the model, the terms, or both? An estimate without human labels.

The scores of three ways to find entities are estimated, in words:

- *terms*: the labels of the gazetteer;
- *model*: the words that a model predicts which was not trained on them;
- *both*: the model, and the terms wherever there is one.

Precision cannot be measured without human labels, but recall can: mentions that the gazetteer labels are found or not by a
model that was not trained on the word, like mentions of terms that the gazetteer lacks. With the estimated share of
entities π, recall r and the share of words v that a system calls entities, precision is π·r / v (Lee and Liu, *Learning
with Positive and Unlabeled Examples Using Weighted Logistic Regression*, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mproto.method.prototypes import OTHER

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.denoising.shares import EntityShares

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
    """Expected scores of the model, the terms, and both."""

    model: Expected
    both: Expected
    terms: Expected

    @property
    def recommended(self) -> Way:
        """The way with the highest expected F1."""
        return max(self._ways(), key=lambda way: way[1].f1)[0]  # in a tie, the first

    def as_card(self) -> dict[str, Any]:
        """Return the entries of the model card: the recommendation, and the expected scores."""
        scores = {way: {"precision": one.precision, "recall": one.recall, "f1": one.f1} for way, one in self._ways()}
        return {RECOMMENDED: self.recommended, EXPECTED: scores}

    def _ways(self) -> list[tuple[Way, Expected]]:
        return [("both", self.both), ("model", self.model), ("terms", self.terms)]


def compare(predicted: Tensor, labels: Tensor, decided: Tensor, shares: EntityShares) -> Outlook:
    """Estimate the scores of the three ways.

    Args:
        predicted: (N,) long, the classes that models predict which were not trained on the word.
        labels: (N,) long, the distant labels.
        decided: (N,) long, the classes after relabelling.
        shares: the estimated shares of entities.
    """
    labelled, other = labels != OTHER, labels == OTHER
    listed, unlisted = int(labelled.sum()), shares.unlabelled * int(other.sum())
    right = (decided == labels)[labelled].sum().item()  # labels that are right, as far as the models can tell
    entities = right + unlisted
    # Labels that are wrong should not be found, so they do not count as missed.
    held_out_recall = (predicted == labels)[labelled & (decided == labels)].double().mean().item() if right else 0.0
    found = held_out_recall * unlisted
    more = int((predicted != OTHER)[other].sum())
    return Outlook(
        # A model that is trained on a term finds it, unless relabelling has rejected it.
        model=_expected(right + found, right + more, entities),
        both=_expected(right + found, listed + more, entities),
        terms=_expected(right, listed, entities),
    )


def _expected(true: float, found: float, entities: float) -> Expected:
    return Expected(min(1.0, true / max(found, 1e-9)), min(1.0, true / max(entities, 1e-9)))
