"""Scores against a brute-force version, nervaluate and scikit-learn."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nervaluate import Evaluator
from sklearn.metrics import precision_recall_fscore_support

from mproto.text import Counts, Document, Span, WordSpan, score
from mproto.text.formats import Keeps
from strategies import word_spans

LENGTH = 8
WORDS = [f"w{i}" for i in range(LENGTH)]
TYPES = ("PER", "LOC", "ORG")
PAIRS = st.lists(
    st.tuples(word_spans(LENGTH, Keeps.TOUCHING, TYPES), word_spans(LENGTH, Keeps.TOUCHING, TYPES)),
    min_size=1,
    max_size=5,
)
Pair = tuple[list[WordSpan], list[WordSpan]]


def documents(pairs: list[Pair]) -> list[tuple[Document, Document]]:
    return [(Document.from_words(WORDS, gold), Document.from_words(WORDS, guess)) for gold, guess in pairs]


def flat(pairs: list[Pair], side: int) -> list[tuple[int, int, int, str]]:
    return [(i, *span) for i, pair in enumerate(pairs) for span in pair[side]]


@given(PAIRS)
def test_against_brute_force(pairs: list[Pair]) -> None:
    scores = score(documents(pairs))
    gold, guess = flat(pairs, 0), flat(pairs, 1)
    assert scores.overall == Counts(sum(g in gold for g in guess), len(guess), len(gold))
    boundaries = [g[:3] for g in gold]
    assert scores.loc == Counts(sum(g[:3] in boundaries for g in guess), len(guess), len(gold))
    located = [g for g in guess if g[:3] in boundaries]
    assert scores.cls == Counts(sum(g in gold for g in located), len(located), len(gold))
    for label, counts in scores.types.items():
        of_label = [g for g in guess if g[3] == label]
        assert counts == Counts(sum(g in gold for g in of_label), len(of_label), sum(g[3] == label for g in gold))
    assert set(scores.types) == {g[3] for g in gold + guess}


@given(PAIRS)
def test_against_sklearn(pairs: list[Pair]) -> None:
    """Every marked pair of boundaries is a sample with a gold and a predicted label."""
    gold = {(i, s.start, s.end): s.label for i, pair in enumerate(pairs) for s in pair[0]}
    guess = {(i, s.start, s.end): s.label for i, pair in enumerate(pairs) for s in pair[1]}
    boundaries = sorted(gold.keys() | guess.keys())
    labels = sorted({*gold.values(), *guess.values()})
    if not labels:
        return
    y_true, y_pred = [gold.get(p, "none") for p in boundaries], [guess.get(p, "none") for p in boundaries]
    scores = score(documents(pairs))
    for average, ours in (("micro", scores.overall), ("macro", scores.macro)):
        theirs = precision_recall_fscore_support(y_true, y_pred, labels=labels, average=average, zero_division=0)
        assert (ours.precision, ours.recall, ours.f1) == pytest.approx(theirs[:3])


@given(PAIRS)
def test_against_nervaluate(pairs: list[Pair]) -> None:
    def entities(spans: list[WordSpan]) -> list[dict[str, object]]:
        """Spans with the inclusive ends of nervaluate."""
        return [{"label": s.label, "start": s.start, "end": s.end - 1} for s in spans]

    if not any(gold or guess for gold, guess in pairs):
        return
    theirs = Evaluator(
        [entities(gold) for gold, _ in pairs], [entities(guess) for _, guess in pairs], tags=list(TYPES), loader="dict"
    ).evaluate()["overall"]
    ours = score(documents(pairs))
    for kind, counts in (("strict", ours.overall), ("exact", ours.loc)):
        assert counts.precision == pytest.approx(theirs[kind].precision)
        assert counts.recall == pytest.approx(theirs[kind].recall)


@given(PAIRS, st.sets(st.sampled_from(WORDS)))
def test_seen_and_unseen_add_up_to_overall(pairs: list[Pair], terms: set[str]) -> None:
    scores = score(documents(pairs), terms={term.upper() for term in terms})
    assert scores.seen is not None
    assert scores.unseen is not None
    assert tuple(map(sum, zip(scores.seen, scores.unseen, strict=True))) == tuple(scores.overall)
    known = [s for s in flat(pairs, 0) if s[2] - s[1] == 1 and WORDS[s[1]] in terms]
    assert scores.seen.gold == len(known)


def test_definitions_of_the_paper() -> None:
    """Loc. ignores labels; Cls. keeps gold spans that were never found as misses."""
    text = "one two three four"
    gold = Document(text, (Span(0, 3, "A"), Span(4, 7, "A"), Span(8, 13, "B"), Span(14, 18, "B")))
    guess = Document(text, (Span(0, 3, "A"), Span(4, 7, "B"), Span(8, 18, "B")))
    scores = score([(gold, guess)])
    assert scores.overall == Counts(1, 3, 4)
    assert scores.loc == Counts(2, 3, 4)
    assert scores.cls == Counts(1, 2, 4)
    assert scores.cls.f1 == pytest.approx(2 * 0.5 * 0.25 / 0.75)


def test_seen_ignores_case_and_spacing() -> None:
    gold = Document("Heart  ATTACK", (Span(0, 13, "D"),))
    scores = score([(gold, gold)], terms=["heart attack"])
    assert (scores.seen, scores.unseen) == (Counts(1, 1, 1), Counts(0, 0, 0))


def test_json_equals_the_scores() -> None:
    text = "one two"
    gold = Document(text, (Span(0, 3, "A"), Span(4, 7, "B")))
    guess = Document(text, (Span(0, 3, "A"), Span(0, 3, "B"), Span(4, 7, "A")))
    scores = score([(gold, guess)] * 30, terms=["one"], bootstrap=20)
    shown = scores.as_dict()
    for name in ("overall", "loc", "cls", "seen", "unseen"):
        assert shown[name]["f1"] == getattr(scores, name).f1
        assert shown[name]["predicted"] == getattr(scores, name).predicted
    assert shown["macro"] == {"precision": 0.25, "recall": 0.5, "f1": pytest.approx(1 / 3)}
    assert shown["seen"] != shown["unseen"]
    assert scores.loc == Counts(60, 60, 60)
    assert shown["intervals"]["loc"]["f1"] == [1, 1]
    assert shown["intervals"]["cls"]["recall"] == [0.5, 0.5]


def test_scores_without_spans_are_zero() -> None:
    scores = score([(Document("a"), Document("a"))], bootstrap=10)
    assert (scores.overall.precision, scores.overall.recall, scores.overall.f1) == (0, 0, 0)
    assert scores.macro == (0, 0, 0)
    assert score([]).documents == 0


def test_texts_must_be_equal() -> None:
    with pytest.raises(ValueError, match="document 1: gold and predicted text differ"):
        score([(Document("a"), Document("b"))])


def test_bootstrap_intervals_have_the_theoretical_width() -> None:
    """Each document has one span, found with probability 0.7: precision is a binomial mean."""
    generator = random.Random(1)
    size, rate = 1000, 0.7
    gold = Document("a b", (Span(0, 1, "X"),))
    hit, miss = gold, Document("a b", (Span(2, 3, "X"),))
    pairs = [(gold, hit if generator.random() < rate else miss) for _ in range(size)]
    scores = score(pairs, bootstrap=2000, seed=3)
    interval = scores.intervals["overall"]["precision"]
    expected = 2 * 1.96 * math.sqrt(rate * (1 - rate) / size)
    assert interval.low < scores.overall.precision < interval.high
    assert interval.high - interval.low == pytest.approx(expected, rel=0.12)
    assert scores.intervals == score(pairs, bootstrap=2000, seed=3).intervals
    assert scores.intervals != score(pairs, bootstrap=2000, seed=4).intervals
    narrower = score(pairs, bootstrap=2000, seed=3, confidence=0.5).intervals["overall"]["precision"]
    assert narrower.low > interval.low
    assert narrower.high < interval.high


def test_intervals_of_perfect_predictions() -> None:
    gold = Document("a b", (Span(0, 1, "X"),))
    intervals = score([(gold, gold)] * 20, bootstrap=50).intervals
    assert {edge for part in intervals.values() for interval in part.values() for edge in interval} == {1.0}
