"""Precision, recall and F1 of predicted spans.

A predicted span is correct if its start, end and label all match a gold span (*strict*). Further
scores:

- *Loc.* compares boundaries and ignores labels.
- *Cls.* counts only predicted spans with the boundaries of a gold span, and compares labels. Gold
  spans whose boundaries were not predicted still count as misses.
- *seen* and *unseen* are strict scores of spans whose surface form is, or is not, a term of a
  gazetteer.

Counts are summed over the corpus (micro). *macro* is the mean over labels.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mproto.text.document import Document, Span


class Counts(NamedTuple):
    """The counts behind precision and recall."""

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.correct / (self.predicted + self.gold) if self.correct else 0.0

    def as_dict(self) -> dict[str, float]:
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, **self._asdict()}


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class Average(NamedTuple):
    """Unweighted means over labels."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Scores:
    """All scores of one set of predictions.

    Attributes:
        overall: strict micro counts.
        types: strict counts of each label.
        loc: counts by boundaries only.
        cls: counts by label, of spans whose boundaries match.
        seen, unseen: strict counts by surface form, if a gazetteer was given.
        documents: the number of documents.
        intervals: bootstrap confidence intervals of each measure of `overall`, `loc` and `cls`, if
            requested: `intervals["overall"]["f1"]`.
    """

    overall: Counts
    types: Mapping[str, Counts]
    loc: Counts
    cls: Counts
    documents: int
    seen: Counts | None = None
    unseen: Counts | None = None
    intervals: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)

    @property
    def macro(self) -> Average:
        types = self.types.values()
        count = len(self.types) or 1
        return Average(
            sum(t.precision for t in types) / count,
            sum(t.recall for t in types) / count,
            sum(t.f1 for t in types) / count,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values for JSON."""
        parts: dict[str, Any] = {
            "overall": self.overall.as_dict(),
            "macro": self.macro._asdict(),
            "loc": self.loc.as_dict(),
            "cls": self.cls.as_dict(),
            "types": {label: counts.as_dict() for label, counts in self.types.items()},
            "documents": self.documents,
        }
        if self.seen is not None and self.unseen is not None:
            parts |= {"seen": self.seen.as_dict(), "unseen": self.unseen.as_dict()}
        if self.intervals:
            parts["intervals"] = {
                name: {measure: list(interval) for measure, interval in measures.items()}
                for name, measures in self.intervals.items()
            }
        return parts


def surface_key(surface: str) -> str:
    """Return the form in which surfaces are compared: case folded, white space collapsed."""
    return " ".join(surface.casefold().split())


def score(
    pairs: Iterable[tuple[Document, Document]],
    *,
    terms: Iterable[str] | None = None,
    bootstrap: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Scores:
    """Compare predicted with gold documents.

    Args:
        pairs: the gold and the predicted document of each text, in that order. Labels are the
            `spans` of both.
        terms: the terms of a gazetteer, for `seen` and `unseen`.
        bootstrap: the number of bootstrap samples for confidence intervals; 0 for no intervals.
        confidence: the confidence level of the intervals.
        seed: the seed of the bootstrap.

    Raises:
        ValueError: the texts of a pair differ.
    """
    scorer = Scorer(terms)
    for number, (gold, predicted) in enumerate(pairs, 1):
        if gold.text != predicted.text:
            raise ValueError(f"document {number}: gold and predicted text differ")
        scorer.add(gold.text, gold.spans, predicted.spans)
    return scorer.scores(bootstrap=bootstrap, confidence=confidence, seed=seed)


class Scorer:
    """Adds up the counts of documents, one at a time. `score` does this for pairs of documents.

    Args:
        terms: the terms of a gazetteer, for `seen` and `unseen`.
    """

    def __init__(self, terms: Iterable[str] | None = None) -> None:
        self._terms = None if terms is None else {surface_key(term) for term in terms}
        self._documents: list[tuple[int, ...]] = []
        self._types: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._by_seen = {True: [0, 0, 0], False: [0, 0, 0]}

    def add(self, text: str, gold: Iterable[Span], predicted: Iterable[Span]) -> None:
        """Add a document to the counts."""
        gold, predicted = set(gold), set(predicted)
        if not gold and not predicted:
            self._documents.append(NO_COUNTS)
            return
        correct = gold & predicted
        boundaries, predicted_boundaries = {span[:2] for span in gold}, {span[:2] for span in predicted}
        overall = len(correct), len(predicted), len(gold)
        loc = len(boundaries & predicted_boundaries), len(predicted_boundaries), len(boundaries)
        cls = len(correct), sum(span[:2] in boundaries for span in predicted), len(gold)
        self._documents.append(overall + loc + cls)
        for column, spans in enumerate((correct, predicted, gold)):
            for start, end, label in spans:
                self._types[label][column] += 1
                if self._terms is not None:
                    self._by_seen[surface_key(text[start:end]) in self._terms][column] += 1

    def scores(self, *, bootstrap: int = 0, confidence: float = 0.95, seed: int = 0) -> Scores:
        """Return the scores of all documents added so far. The arguments are those of `score`."""
        totals = [sum(column) for column in zip(NO_COUNTS, *self._documents, strict=True)]
        overall, loc, cls = (Counts(*totals[i : i + 3]) for i in (0, 3, 6))
        return Scores(
            overall=overall,
            types={label: Counts(*counts) for label, counts in sorted(self._types.items())},
            loc=loc,
            cls=cls,
            documents=len(self._documents),
            seen=None if self._terms is None else Counts(*self._by_seen[True]),
            unseen=None if self._terms is None else Counts(*self._by_seen[False]),
            intervals=_intervals(self._documents, bootstrap, confidence, seed) if bootstrap and self._documents else {},
        )


INTERVALS = ("overall", "loc", "cls")
NO_COUNTS = (0,) * 9
"""The three counts of each of `INTERVALS`, for a document without spans."""


def _intervals(
    documents: list[tuple[int, ...]], resamples: int, confidence: float, seed: int
) -> dict[str, dict[str, Interval]]:
    """Compute percentile bootstrap intervals over documents.

    The nine counts of a document are packed into one integer, so each bootstrap sample is a single
    sum.
    """
    bits = (len(documents) * max(map(max, documents))).bit_length() or 1
    packed = [sum(count << (bits * i) for i, count in enumerate(counts)) for counts in documents]
    generator = random.Random(seed)
    mask = (1 << bits) - 1
    samples: list[list[int]] = []
    for _ in range(resamples):
        drawn = sum(generator.choices(packed, k=len(packed)))
        samples.append([(drawn >> (bits * i)) & mask for i in range(9)])

    def interval(values: list[float]) -> Interval:
        values.sort()
        tail = (1 - confidence) / 2
        last = len(values) - 1
        return Interval(values[round(tail * last)], values[round((1 - tail) * last)])

    intervals = {}
    for i, name in enumerate(INTERVALS):
        drawn_counts = [Counts(*sample[3 * i : 3 * i + 3]) for sample in samples]
        intervals[name] = {
            measure: interval([getattr(counts, measure) for counts in drawn_counts])
            for measure in ("precision", "recall", "f1")
        }
    return intervals
