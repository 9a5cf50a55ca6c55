"""Distant labels: a gazetteer's terms, found in texts."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

from mproto.errors import InputError
from mproto.gazetteer.names import settled_matcher
from mproto.gazetteer.options import MatchOptions
from mproto.gazetteer.paper import PaperMatcher
from mproto.text.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mproto.gazetteer.entries import Gazetteer
    from mproto.gazetteer.matcher import Matcher

Policy = Literal["default", "paper"]
LOOKED_AT = 1000


def annotate(
    texts: Iterable[str | Document],
    gazetteer: Gazetteer,
    *,
    matching: Policy = "default",
    options: MatchOptions = MatchOptions(),
    cache_folder: Path | None = None,
    on_names: Callable[[frozenset[str]], object] = id,
) -> Iterator[Document]:
    """Documents whose spans are the gazetteer's terms.

    Spans that documents had become their gold spans, unless they have gold spans already; nothing that trains looks at
    those. Whether a corpus is labelled, so that a document without spans is one with nothing in it, is told from the first
    thousand documents, and so is which types are names.

    Args:
        texts: texts, or documents.
        gazetteer: the terms.
        matching: `default` finds the longest match over all types at once; `paper` does what was done for the paper's data.
        options: of the default policy.
        cache_folder: where to keep the automaton of a large gazetteer between runs.
        on_names: told which types are taken for names, before the first document comes.
    """
    if matching not in ("default", "paper"):
        raise InputError(f"there is no matching policy {matching!r}", hint="choose default or paper")
    documents = (text if isinstance(text, Document) else Document(text) for text in texts)
    first = list(islice(documents, LOOKED_AT))
    matcher: PaperMatcher | Matcher
    if matching == "paper":
        matcher = PaperMatcher(gazetteer)
    else:
        matcher = settled_matcher(gazetteer, options, first, cache_folder)
        on_names(matcher.options.names or frozenset())
    labelled = any(document.spans or document.gold is not None for document in first)
    for document in chain(first, documents):
        yield document.relabelled(matcher.word_spans(document), keep=labelled)
