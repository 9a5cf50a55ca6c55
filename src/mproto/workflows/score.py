"""Score one file against another: the work of `mproto score`."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from mproto.text.document import Document, Span
from mproto.text.formats.base import Options
from mproto.text.formats.registry import read_documents
from mproto.text.scoring import Scores, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source


def score_files(
    gold: Source,
    predicted: Source,
    *,
    format: str | None = None,
    options: Options = Options(),
    terms: Iterable[str] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Scores:
    """Return the scores of predicted spans.

    Both files must contain the same documents in the same order.

    Args:
        gold: documents with gold spans. If a document has human and distant labels, the human ones
            count.
        predicted: documents with predicted spans.
        format: the format of both files; detected from their content if not given.
        options: how to read them.
        terms: terms of a gazetteer, for separate scores on entities that are in it and entities
            that are not.
        bootstrap: the number of bootstrap resamples; 0 for no intervals.
        seed: the seed of the resampling.

    Raises:
        InputError: the files cannot be read, or their texts differ.
    """
    pairs = _pairs(gold, predicted, format, options)
    return score(pairs, terms=terms, bootstrap=bootstrap, seed=seed)


def _pairs(
    gold: Source, predicted: Source, format: str | None, options: Options
) -> Iterator[tuple[Document, Document]]:
    documents = zip_longest(read_documents(gold, format, options), read_documents(predicted, format, options))
    for number, (expected, actual) in enumerate(documents, 1):
        if expected is None or actual is None:
            short = gold if expected is None else predicted
            raise short.error(
                f"ends after {number - 1} documents, before the other file",
                hint="both files must contain the same documents",
            )
        if expected.text != actual.text:
            moved = onto_text(actual, expected.text)
            if moved is not None:
                yield _gold(expected), moved
                continue
            raise predicted.error(
                f"document {number} is {actual.text[:60]!r} here and {expected.text[:60]!r} in {gold.path}",
                hint="both files must contain the same documents in the same order",
            )
        yield _gold(expected), actual


def _gold(document: Document) -> Document:
    return document if document.gold is None else replace(document, spans=document.gold)


def onto_text(document: Document, text: str) -> Document | None:
    """Move a document's spans to a text that differs only in white space.

    Return `None` if the texts differ otherwise.

    Word-based formats lose the spacing of a text; the scores must not depend on it.
    """
    ours = [i for i, char in enumerate(document.text) if not char.isspace()]
    theirs = [i for i, char in enumerate(text) if not char.isspace()]
    if [document.text[i] for i in ours] != [text[i] for i in theirs]:
        return None
    spans = []
    for start, end, label in document.spans:
        first, last = bisect_left(ours, start), bisect_left(ours, end)
        if first < last:
            spans.append(Span(theirs[first], theirs[last - 1] + 1, label))
    return Document(text, tuple(spans), id=document.id)
