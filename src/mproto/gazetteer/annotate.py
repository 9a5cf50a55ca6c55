"""Distant labels: find the terms of a gazetteer in texts."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

from mproto.errors import InputError
from mproto.gazetteer.names import matcher_with_detected_names
from mproto.gazetteer.options import MatchOptions
from mproto.gazetteer.paper import PaperMatcher
from mproto.text.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mproto.gazetteer.entries import Gazetteer
    from mproto.gazetteer.matcher import Matcher

Policy = Literal["default", "paper"]
INSPECTED_DOCUMENTS = 1000
"""The number of documents inspected before the first one is labelled."""


def annotate(
    texts: Iterable[str | Document],
    gazetteer: Gazetteer,
    *,
    matching: Policy = "default",
    options: MatchOptions = MatchOptions(),
    cache_folder: Path | None = None,
    on_names: Callable[[frozenset[str]], object] = id,
) -> Iterator[Document]:
    """Label documents with the terms of a gazetteer.

    If the corpus is already labelled, the spans of each document become its gold spans, unless it
    has gold spans. Training does not use gold spans. In a labelled corpus, a document without spans
    gets an empty set of gold spans. The first thousand documents decide whether the corpus is
    labelled, and which types are names.

    Args:
        texts: texts or documents.
        gazetteer: the terms.
        matching: `default` finds the longest match over all types; `paper` matches like the paper's
            data sets.
        options: the options of the default policy.
        cache_folder: a folder that caches the automaton of a large gazetteer between runs.
        on_names: called once with the types whose terms are names, before the first document
            (default policy only).

    Yields:
        The documents, with the terms as spans.

    Raises:
        InputError: there is no such matching policy, or an option does not fit the gazetteer.
    """
    if matching not in ("default", "paper"):
        raise InputError(f"there is no matching policy {matching!r}", hint="choose default or paper")
    documents = (text if isinstance(text, Document) else Document(text) for text in texts)
    first = list(islice(documents, INSPECTED_DOCUMENTS))
    matcher: PaperMatcher | Matcher
    if matching == "paper":
        matcher = PaperMatcher(gazetteer)
    else:
        matcher = matcher_with_detected_names(gazetteer, options, first, cache_folder)
        on_names(matcher.options.names or frozenset())
    is_labelled = any(document.spans or document.gold is not None for document in first)
    for document in chain(first, documents):
        yield document.relabelled(matcher.word_spans(document), keep=is_labelled)
