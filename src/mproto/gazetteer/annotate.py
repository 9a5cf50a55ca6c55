"""Distant labels: a gazetteer's terms, found in texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mproto.gazetteer.trie import Trie
from mproto.text.document import Document, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.gazetteer.entries import Gazetteer


def annotate(texts: Iterable[str | Document], gazetteer: Gazetteer) -> Iterator[Document]:
    """Documents whose spans are the gazetteer's terms: the longest match first, over all types at once.

    A term that the gazetteer lists under more than one type says nothing about its type and gives no label. The spans that a
    document had are replaced.
    """
    trie = Trie(gazetteer)
    for text in texts:
        document = text if isinstance(text, Document) else Document(text)
        words = document.words
        spans = tuple(
            Span(words[match.start].start, words[match.end - 1].end, match.entries[0].type)
            for match in trie.matches(document.word_texts)
            if len({entry.type for entry in match.entries}) == 1
        )
        yield replace(document, spans=spans)
