"""The terms that documents are labelled with, and hiding some of them, as if the dictionary lacked them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mproto.text.document import Document, Span

HIDDEN_SHARE = 0.15
"""Of the terms of each type."""
TOO_FREQUENT = 0.02
"""Terms with more than this share of their type's mentions are not hidden: a list that lacks them is no list."""


def hide_terms(documents: Sequence[Document], seed: int) -> frozenset[str]:
    """Some of the terms that documents are labelled with, of every type alike."""
    mentions: dict[str, Counter[str]] = defaultdict(Counter)
    for document in documents:
        for span in document.spans:
            mentions[span.label][term(document, span)] += 1
    generator = random.Random(seed)
    hidden: set[str] = set()
    for _, counts in sorted(mentions.items()):
        rare = sorted(surface for surface, count in counts.items() if count <= TOO_FREQUENT * counts.total())
        hidden.update(generator.sample(rare, round(HIDDEN_SHARE * len(rare))))
    return frozenset(hidden)


def without(document: Document, terms: Collection[str]) -> Document:
    """The document without the labels of these terms."""
    kept = [span for span in document.spans if term(document, span) not in terms]
    return document if len(kept) == len(document.spans) else document.with_spans(kept, document.gold)


def term(document: Document, span: Span) -> str:
    """What a mention says, however it is written."""
    return document.surface(span).casefold()
