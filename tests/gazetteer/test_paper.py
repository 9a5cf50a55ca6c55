"""The paper's matching: small examples with its bug, and all published labels if the data are available."""

from __future__ import annotations

from pathlib import Path

import pytest

from mproto import Document, Entry, Gazetteer, annotate, read_documents
from mproto.text import Scorer

QUALITY = {
    ("bc5cdr", "0.2"): (87.31, 12.09, 21.24),
    ("bc5cdr", "0.4"): (87.66, 29.06, 43.65),
    ("bc5cdr", "0.6"): (88.42, 40.02, 55.10),
    ("bc5cdr", "0.8"): (89.42, 53.85, 67.22),
    ("bc5cdr", "1.0"): (89.45, 66.95, 76.58),
    ("conll03", "0.2"): (81.49, 10.55, 18.67),
    ("conll03", "0.4"): (84.87, 20.65, 33.21),
    ("conll03", "0.6"): (87.58, 30.68, 45.44),
    ("conll03", "0.8"): (89.02, 42.42, 57.46),
    ("conll03", "1.0"): (91.62, 52.15, 66.47),
}


def labels(words: str, *entries: tuple[str, str]) -> list[tuple[int, int, str]]:
    gazetteer = Gazetteer(tuple(Entry(*entry) for entry in entries))
    (document,) = annotate([Document.from_words(words.split())], gazetteer, matching="paper")
    return [tuple(span) for span in document.word_spans]  # type: ignore[misc]


def test_the_word_after_a_match_is_skipped() -> None:
    assert labels("a b a", ("a", "X")) == [(0, 1, "X"), (2, 3, "X")]
    assert labels("a a a", ("a", "X")) == [(0, 1, "X"), (2, 3, "X")]
    assert labels("a b c", ("a", "X"), ("b", "X")) == [(0, 1, "X")]


def test_types_are_matched_separately_and_cancel_each_other() -> None:
    assert labels("a b", ("a", "X"), ("b", "Y")) == [(0, 1, "X"), (1, 2, "Y")]
    assert labels("a b", ("a b", "X"), ("b", "Y")) == [(0, 1, "X")]
    assert labels("a", ("a", "X"), ("a", "Y")) == []


def test_case_matters_and_long_terms_are_not_found() -> None:
    assert labels("A a", ("a", "X")) == [(1, 2, "X")]
    assert labels("a b c d", ("a b", "X"), ("d", "X")) == [(0, 2, "X"), (3, 4, "X")]
    assert labels(" ".join("abcdefghijk"), (" ".join("abcdefghijk"), "X")) == []


@pytest.mark.data
@pytest.mark.parametrize(("name", "part"), QUALITY)
def test_all_published_labels(name: str, part: str, data_folder: Path) -> None:
    gazetteer = Gazetteer.load(data_folder / "dictionaries" / name).head(float(part))
    released = list(read_documents(data_folder / "datasets" / f"{name}-{part}" / "train.jsonl"))
    scorer = Scorer()
    for document, ours in zip(released, annotate(released, gazetteer, matching="paper"), strict=True):
        assert ours.spans == document.spans
        scorer.add(document.text, document.gold or (), ours.spans)
    overall = scorer.scores().overall
    measures = (overall.precision, overall.recall, overall.f1)
    assert tuple(round(100 * value, 2) for value in measures) == QUALITY[name, part]
