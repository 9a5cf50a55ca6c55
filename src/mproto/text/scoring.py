"""Precision, recall and F1 of predicted spans.

A predicted span is right when start, end and label all match a gold span (*strict*). Beside it:

- *Loc.* ignores the label: are the boundaries right?
- *Cls.* looks at predicted spans with a gold span's boundaries only: is the label right? Gold spans that were never found
  stay in as misses.
- *seen* and *unseen* split both sides by whether the surface form is a term of a gazetteer.

Counts are summed over the corpus (micro); *macro* is the mean over labels.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mproto.text.document import Document, Span


class Counts(NamedTuple):
    """What precision and recall are made of."""

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
    """Everything that is counted about one set of predictions.

    Attributes:
        overall: strict micro counts.
        types: strict counts of each label.
        loc, cls: boundaries only, and labels where boundaries match.
        seen, unseen: strict counts by surface form, where a gazetteer was given.
        documents: how many documents were compared.
        intervals: for each measure of `overall`, `loc` and `cls`, a bootstrap confidence interval where asked for,
            as `intervals["overall"]["f1"]`.
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
        """Plain numbers for JSON."""
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
    """The form under which a surface counts as seen: case folded, white space collapsed."""
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
        pairs: gold and predicted document of the same text, in that order. Labels are read from `spans` of both.
        terms: surface forms of a gazetteer, for `seen` and `unseen`.
        bootstrap: how often to resample documents for confidence intervals; 0 for none.
        confidence: the share of resamples that an interval covers.
        seed: of the resampling.

    Raises:
        ValueError: the texts of a pair differ.
    """
    known = None if terms is None else {surface_key(term) for term in terms}
    total: Counter[tuple[str, int]] = Counter()
    documents: list[tuple[int, ...]] = []
    for gold, predicted in pairs:
        if gold.text != predicted.text:
            raise ValueError(f"document {len(documents) + 1}: gold and predicted text differ")
        counted = _count_spans(gold, predicted, known)
        documents.append(tuple(counted.get((group, i), 0) for group in ("overall", "loc", "cls") for i in range(3)))
        total.update(counted)

    def counts(group: str) -> Counts:
        return Counts(*(total[group, i] for i in range(3)))

    labels = sorted({group.removeprefix("type:") for group, _ in total if group.startswith("type:")})
    return Scores(
        overall=counts("overall"),
        types={label: counts(f"type:{label}") for label in labels},
        loc=counts("loc"),
        cls=counts("cls"),
        documents=len(documents),
        seen=None if known is None else counts("seen"),
        unseen=None if known is None else counts("unseen"),
        intervals=_intervals(documents, bootstrap, confidence, seed) if bootstrap and documents else {},
    )


CORRECT, PREDICTED, GOLD = range(3)


def _count_spans(gold: Document, predicted: Document, known: set[str] | None) -> Counter[tuple[str, int]]:
    """Counts of one document, under (group, which of `Counts`)."""
    counted: Counter[tuple[str, int]] = Counter()
    if not gold.spans and not predicted.spans:
        return counted
    gold_spans, predicted_spans = set(gold.spans), set(predicted.spans)
    correct = gold_spans & predicted_spans
    places, predicted_places = {s[:2] for s in gold_spans}, {s[:2] for s in predicted_spans}
    located = sum(span[:2] in places for span in predicted_spans)

    counted["loc", CORRECT] = len(places & predicted_places)
    counted["loc", PREDICTED] = len(predicted_places)
    counted["loc", GOLD] = len(places)
    counted["cls", CORRECT], counted["cls", PREDICTED], counted["cls", GOLD] = len(correct), located, len(gold_spans)
    groups = _groups(gold.text, known)
    for which, spans in ((CORRECT, correct), (PREDICTED, predicted_spans), (GOLD, gold_spans)):
        counted["overall", which] = len(spans)
        for span in spans:
            for group in groups(span):
                counted[group, which] += 1
    return counted


def _groups(text: str, known: set[str] | None) -> Callable[[Span], tuple[str, ...]]:
    if known is None:
        return lambda span: (f"type:{span.label}",)
    return lambda span: (
        f"type:{span.label}",
        "seen" if surface_key(text[span.start : span.end]) in known else "unseen",
    )


def _intervals(
    documents: list[tuple[int, ...]], resamples: int, confidence: float, seed: int
) -> dict[str, dict[str, Interval]]:
    """Percentile bootstrap over documents.

    The nine counts of a document are packed into one integer, so that a resample is a single sum.
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
    for i, name in enumerate(("overall", "loc", "cls")):
        drawn_counts = [Counts(*sample[3 * i : 3 * i + 3]) for sample in samples]
        intervals[name] = {
            measure: interval([getattr(counts, measure) for counts in drawn_counts])
            for measure in ("precision", "recall", "f1")
        }
    return intervals
