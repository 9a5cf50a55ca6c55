"""Everything that a report of a run shows, as data; `report_page.py` makes a page of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.analysis.curves import Curve, curves
from mproto.analysis.hardest import Hard, hardest
from mproto.analysis.projection import choose, project
from mproto.analysis.prototypes import Card, Flow, flow, prototype_cards, prototype_model
from mproto.analysis.terms import Coverage, NewTerm, coverage, new_terms
from mproto.analysis.words import look, sample
from mproto.text.scoring import Scorer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from torch import Tensor

    from mproto.analysis.words import Words
    from mproto.recognizer import Recognizer
    from mproto.text.document import Document
    from mproto.text.scoring import Scores
    from mproto.training.loop import Progress

MOST_WORDS, MOST_POINTS, MOST_HARD = 100_000, 1500, 20
RESAMPLES = 500


class Point(NamedTuple):
    """A word on the map, or a prototype.

    Attributes:
        x, y: from 0 to 1.
        number: of its class: by people where they labelled it, and else by the model.
        before, word, after: in its context; for a prototype, its name alone.
        label: that the dictionary gave, `O` for none.
        prototype: the nearest, where there are any.
    """

    x: float
    y: float
    number: int
    before: str
    word: str
    after: str
    label: str
    prototype: str


@dataclass(frozen=True)
class WordMap:
    """A map of words.

    Attributes:
        method: how it was laid out.
        points: words.
        prototypes: where those are.
    """

    method: str
    points: tuple[Point, ...]
    prototypes: tuple[Point, ...]


@dataclass(frozen=True)
class Findings:
    """What is seen in a corpus.

    Attributes:
        corpus: what it is called.
        documents, words: how many were looked at.
        of: how many documents with words there are.
        has_dictionary: whether a dictionary labelled it; without, nothing is told of one.
        coverage: of the dictionary.
        scores: against people's labels, where there are any.
        word_map: of features.
        cards: of the prototypes, where the model has any.
        flow: of the transport of O words, where the model has one.
        hardest: texts to read first.
        by_people: whether people labelled any of it.
        terms: that the model finds and the dictionary lacks.
    """

    corpus: str
    documents: int
    words: int
    of: int
    has_dictionary: bool
    coverage: list[Coverage]
    scores: Scores | None
    word_map: WordMap
    cards: list[Card]
    flow: Flow | None
    hardest: list[Hard]
    by_people: bool
    terms: list[NewTerm]


@dataclass(frozen=True)
class Report:
    """A run.

    Attributes:
        facts: names and values.
        classes: `O` and the types.
        curves: by chart.
        findings: in a corpus, where there is one.
    """

    facts: Mapping[str, str]
    classes: tuple[str, ...]
    curves: Mapping[str, list[Curve]]
    findings: Findings | None


def report(
    recognizer: Recognizer,
    history: Sequence[Progress],
    documents: Sequence[Document] = (),
    *,
    corpus: str = "",
    known: Collection[str] = (),
    most_words: int = MOST_WORDS,
    seed: int = 0,
) -> Report:
    """Look into a run.

    Args:
        recognizer: the trained model.
        history: of the run.
        documents: with the dictionary's spans, and with gold spans where people labelled them.
        corpus: what those are called.
        known: terms of the dictionary.
        most_words: more are not looked at; which ones is drawn at random.
        seed: of what is drawn.
    """
    chosen = sample(documents, most_words, seed)
    total = sum(document.word_count > 0 for document in documents)
    findings = _find(recognizer, chosen, corpus, total, known, seed) if chosen else None
    return Report(_facts(recognizer, history), ("O", *recognizer.labels), curves(history), findings)


def _facts(recognizer: Recognizer, history: Sequence[Progress]) -> dict[str, str]:
    config = recognizer.config
    facts = {"method": config.method, "encoder": recognizer.model.encoder.name, "types": ", ".join(recognizer.labels)}
    facts |= {name: _shown(value) for name, value in recognizer.card.items()}
    if history:
        best = [progress.step for progress in history if progress.best]
        facts["steps"] = f"{len(history):,}"
        averaged = config.training.selection in ("auto", "last") and config.training.average > 0
        facts["kept"] = f"the weights after step {best[-1]:,}" if best and not averaged else ""
        facts["training time"] = f"{sum(progress.seconds for progress in history) / 60:.1f} minutes"
        facts["words a second"] = f"{sum(p.words for p in history) / sum(p.seconds for p in history):,.0f}"
        facts["peak memory"] = f"{max(progress.memory for progress in history):,} MB"
    shares = [progress.logs["unlabelled"] for progress in history if "unlabelled" in progress.logs]
    if shares:
        facts["unlabelled entities, estimated"] = f"{100 * shares[-1]:.1f} % of the words without a label"
    return {name: value for name, value in facts.items() if value}


def _shown(value: object) -> str:
    """A value of a card for people; of lists and dictionaries what is in them, nothing for empty ones."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(map(_shown, value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _find(
    recognizer: Recognizer, documents: list[Document], corpus: str, total: int, known: Collection[str], seed: int
) -> Findings:
    words = look(recognizer, documents)
    has_dictionary = bool(known) or any(document.spans for document in documents)
    by_people = any(document.gold is not None for document in documents)
    model = prototype_model(recognizer.model)
    return Findings(
        corpus=corpus,
        documents=len(documents),
        words=len(words),
        of=total,
        has_dictionary=has_dictionary,
        coverage=coverage(words, recognizer.labels),
        scores=_score(words, known if has_dictionary else None) if by_people else None,
        word_map=_draw(recognizer, words, seed),
        cards=prototype_cards(model, words) if model else [],
        flow=flow(model, words) if model and len(model.word_ids) and has_dictionary else None,
        hardest=hardest(words, MOST_HARD),
        by_people=by_people,
        terms=new_terms(words, known),
    )


def _score(words: Words, known: Collection[str] | None) -> Scores:
    """On the documents that people labelled; terms that the dictionary labels anywhere count as seen."""
    labelled = {document.surface(span) for document in words.documents for span in document.spans}
    scorer = Scorer(None if known is None else labelled.union(known))
    for document, entities in zip(words.documents, words.entities, strict=True):
        if document.gold is not None:
            scorer.add(document.text, document.gold, [entity.span for entity in entities])
    return scorer.scores(bootstrap=RESAMPLES)


def _draw(recognizer: Recognizer, words: Words, seed: int) -> WordMap:
    chosen = choose(words, MOST_POINTS, seed)
    model = prototype_model(recognizer.model)
    features, names, class_of = words.features[chosen], recognizer.model.prototype_names, torch.zeros(0).long()
    nearest: list[str] = [""] * len(chosen)
    if model:
        bank = model.bank
        class_of = bank.class_of.cpu()
        with torch.no_grad():
            best = bank.similarity(features.to(model.device)).argmax(-1).tolist()
        nearest = [names[place] for place in best]
        features = torch.cat([features, bank.vectors.cpu()])
    places, method = project(features, seed)
    numbers = torch.where(words.gold >= 0, words.gold, words.predicted)[chosen].tolist()
    classes = ("O", *recognizer.labels)
    points = tuple(
        Point(x, y, number, *words.context(place), (*classes, "another type")[int(words.labels[place])], prototype)
        for (x, y), number, place, prototype in zip(_pairs(places), numbers, chosen.tolist(), nearest, strict=False)
    )
    prototypes = tuple(
        Point(x, y, number, "", name, "", "", name)
        for (x, y), number, name in zip(_pairs(places[len(chosen) :]), class_of.tolist(), names, strict=True)
    )
    return WordMap(method, points, prototypes)


def _pairs(places: Tensor) -> list[tuple[float, float]]:
    return [(x, y) for x, y in places.tolist()]
