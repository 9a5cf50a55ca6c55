"""Dictionary matching exactly as for the paper's data sets.

Each type is matched separately. At each word, the longest sequence of up to ten words that equals
an entry is flagged. The search then continues after the match, but **skips one word**: no match can
start at the word right after a match. A word gets a label if exactly one type flagged it, and spans
are runs of words with the same label. The skipped word is a bug of the original code. It is kept
because the published labels depend on it; the default policy does not have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.text.tagging import OUTSIDE, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.gazetteer.entries import Gazetteer
    from mproto.text.document import Document, WordSpan

LONGEST = 10


class PaperMatcher:
    """The paper's matching, with the same `word_spans` method as `Matcher`."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self._terms: dict[str, set[str]] = {type_: set() for type_ in gazetteer.types}
        for entry in gazetteer:
            self._terms[entry.type].add(entry.surface)
        self._starts = {type_: {t.split(" ", 1)[0] for t in terms} for type_, terms in self._terms.items()}

    def word_spans(self, document: Document) -> tuple[WordSpan, ...]:
        texts = document.word_texts
        labels = [OUTSIDE] * len(texts)
        flags = [0] * len(texts)
        for type_ in self._terms:
            for i in self._flagged(texts, type_):
                labels[i], flags[i] = type_, flags[i] + 1
        tags = [label if count == 1 else OUTSIDE for label, count in zip(labels, flags, strict=True)]
        return decode(tags, bare=True).spans

    def _flagged(self, words: Sequence[str], type_: str) -> list[int]:
        terms, starts = self._terms[type_], self._starts[type_]
        flagged: list[int] = []
        position = 0
        while position < len(words):
            if words[position] in starts:
                for length in range(min(LONGEST, len(words) - position), 0, -1):
                    if " ".join(words[position : position + length]) in terms:
                        flagged += range(position, position + length)
                        position += length
                        break
            position += 1  # also after a match, which skips the word that follows it
        return flagged
