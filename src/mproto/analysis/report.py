"""The content of a report about a training run; `html/report_page.py` renders it as a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.analysis.coverage import Coverage, coverage
from mproto.analysis.curves import Curve, curves
from mproto.analysis.disagreements import Disagreement, largest_disagreements
from mproto.analysis.missing_terms import MissingTerm, missing_terms
from mproto.analysis.projection import choose_words, project
from mproto.analysis.prototypes import PrototypeCard, Reassignment, prototype_cards, prototype_model, reassign
from mproto.analysis.word_table import read_words, sample_documents
from mproto.text.scoring import Scorer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from torch import Tensor

    from mproto.analysis.word_table import WordTable
    from mproto.recognizer import Recognizer
    from mproto.text.document import Document
    from mproto.text.scoring import Scores
    from mproto.training.loop import Progress

MOST_WORDS, MOST_POINTS, MOST_DISAGREEMENTS = 100_000, 1500, 20
RESAMPLES = 500
"""Bootstrap samples for confidence intervals."""


class Point(NamedTuple):
    """A word on the map, or a prototype.

    Attributes:
        x, y: coordinates from 0 to 1.
        class_number: its class by human labels, or the predicted class if there are none.
        before, word, after: the word and its context; for a prototype, its name without context.
        label: the class by the gazetteer's labels, `O` for none; empty for a prototype.
        prototype: the nearest prototype, if the model has prototypes.
    """

    x: float
    y: float
    class_number: int
    before: str
    word: str
    after: str
    label: str
    prototype: str


@dataclass(frozen=True)
class WordMap:
    """A map of words.

    Attributes:
        method: the projection, `t-SNE` or `PCA`.
        points: the words.
        prototypes: the prototypes.
    """

    method: str
    points: tuple[Point, ...]
    prototypes: tuple[Point, ...]


@dataclass(frozen=True)
class Findings:
    """The part of a report that is about a corpus.

    Attributes:
        corpus: the name of the corpus.
        documents, words: the size of the sample that was analysed.
        of: the number of documents with words in the corpus.
        has_gazetteer: whether a gazetteer labelled the corpus.
        coverage: the coverage of each type.
        scores: the scores against human labels, if there are any.
        word_map: a map of words.
        cards: a card for each prototype; empty if the model has none.
        reassignment: the classes that denoising assigns to words labelled O, if the model has
            prototypes and leaves words out.
        disagreements: the texts to read first.
        human_labelled: whether any document has human labels.
        missing_terms: terms that the model finds and the gazetteer does not have.
    """

    corpus: str
    documents: int
    words: int
    of: int
    has_gazetteer: bool
    coverage: list[Coverage]
    scores: Scores | None
    word_map: WordMap
    cards: list[PrototypeCard]
    reassignment: Reassignment | None
    disagreements: list[Disagreement]
    human_labelled: bool
    missing_terms: list[MissingTerm]


@dataclass(frozen=True)
class Report:
    """A report about a training run.

    Attributes:
        facts: facts about the run, by name.
        classes: `O` and the types.
        curves: the learning curves, by the title of their chart.
        findings: the part about a corpus, if there is one.
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
    """Analyse a training run.

    Args:
        recognizer: the trained model.
        history: the history of the run.
        documents: a corpus. Spans are the gazetteer's labels, gold spans are human labels.
        corpus: the name of the corpus.
        known: terms of the gazetteer.
        most_words: the maximum number of words in the sample of documents that is analysed.
        seed: the seed for random samples.
    """
    chosen = sample_documents(documents, most_words, seed)
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
        facts["words per second"] = f"{sum(p.words for p in history) / sum(p.seconds for p in history):,.0f}"
        facts["peak memory"] = f"{max(progress.memory for progress in history):,} MB"
    shares = [progress.logs["unlabelled"] for progress in history if "unlabelled" in progress.logs]
    if shares:
        facts["unlabelled entities (estimate)"] = f"{100 * shares[-1]:.1f} % of the words labelled O"
    return {name: value for name, value in facts.items() if value}


def _shown(value: object) -> str:
    """Format a value of the model card; lists and dictionaries are flattened."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(map(_shown, value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _find(
    recognizer: Recognizer, documents: list[Document], corpus: str, total: int, known: Collection[str], seed: int
) -> Findings:
    words = read_words(recognizer, documents)
    has_gazetteer = bool(known) or any(document.spans for document in documents)
    human_labelled = any(document.gold is not None for document in documents)
    model = prototype_model(recognizer.model)
    # Relabelling leaves out no words: it changes labels before training.
    leaves_out = model is not None and len(model.word_ids) > 0 and model.settings.denoising != "relabel"
    return Findings(
        corpus=corpus,
        documents=len(documents),
        words=len(words),
        of=total,
        has_gazetteer=has_gazetteer,
        coverage=coverage(words, recognizer.labels),
        scores=_score(words, known if has_gazetteer else None) if human_labelled else None,
        word_map=_word_map(recognizer, words, seed),
        cards=prototype_cards(model, words) if model else [],
        reassignment=reassign(model, words) if model and leaves_out and has_gazetteer else None,
        disagreements=largest_disagreements(words, MOST_DISAGREEMENTS),
        human_labelled=human_labelled,
        missing_terms=missing_terms(words, known),
    )


def _score(words: WordTable, known: Collection[str] | None) -> Scores:
    """Score the documents with human labels.

    Terms that the gazetteer labels anywhere count as seen.
    """
    labelled = {document.surface(span) for document in words.documents for span in document.spans}
    scorer = Scorer(None if known is None else labelled.union(known))
    for document, entities in zip(words.documents, words.entities, strict=True):
        if document.gold is not None:
            scorer.add(document.text, document.gold, [entity.span for entity in entities])
    return scorer.scores(bootstrap=RESAMPLES)


def _word_map(recognizer: Recognizer, words: WordTable, seed: int) -> WordMap:
    chosen = choose_words(words, MOST_POINTS, seed)
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
