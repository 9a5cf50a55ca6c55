"""Terms that the model finds and the gazetteer does not have: candidates for new entries."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mproto.text.scoring import surface_key

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mproto.analysis.word_table import WordTable

CONTEXT = 40
"""The number of characters of context on each side of an example."""
LONGEST_TERM = 160
"""The maximum number of characters shown of a term."""


@dataclass(frozen=True)
class MissingTerm:
    """A term that the model finds and the gazetteer does not have.

    Attributes:
        surface: its most frequent form.
        type: the most frequent type that the model gives it.
        count: the number of mentions that the model finds.
        score: their mean score.
        before, match, after: the mention with the highest score, and its context.
    """

    surface: str
    type: str
    count: int
    score: float
    before: str
    match: str
    after: str


def missing_terms(words: WordTable, known: Collection[str] = ()) -> list[MissingTerm]:
    """Return missing terms in order of count × score, the highest first.

    Args:
        words: the words and entities of some documents.
        known: terms of the gazetteer, in addition to those that it labels in the documents.
    """
    in_gazetteer = {surface_key(term) for term in known}
    in_gazetteer |= {surface_key(d.surface(span)) for d in words.documents for span in d.spans}
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, entities in enumerate(words.entities):
        for place, entity in enumerate(entities):
            key = surface_key(words.documents[number].surface(entity.span))
            if key not in in_gazetteer:
                places[key].append((number, place))
    found = [_term(words, mentions) for mentions in places.values()]
    return sorted(found, key=lambda term: (-term.count * term.score, term.surface))


def _term(words: WordTable, mentions: Sequence[tuple[int, int]]) -> MissingTerm:
    """Summarise the mentions of a term, which are (document, entity) indices."""
    entities = [words.entities[number][place] for number, place in mentions]
    surfaces = Counter(
        words.documents[number].surface(entity.span) for (number, _), entity in zip(mentions, entities, strict=True)
    )
    number, place = max(mentions, key=lambda mention: words.entities[mention[0]][mention[1]].score)
    text, span = words.documents[number].text, words.entities[number][place].span
    return MissingTerm(
        surfaces.most_common(1)[0][0][:LONGEST_TERM],
        Counter(entity.span.label for entity in entities).most_common(1)[0][0],
        len(entities),
        sum(entity.score for entity in entities) / len(entities),
        text[max(0, span.start - CONTEXT) : span.start],
        text[span.start : span.end][:LONGEST_TERM],
        text[span.end : span.end + CONTEXT],
    )
