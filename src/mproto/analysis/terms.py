"""What the dictionary covers, what the model finds beyond it, and the terms that the dictionary should perhaps have."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mproto.text.scoring import surface_key

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mproto.analysis.words import Words

AROUND = 40
"""Characters of context on each side; of a term, four times as many."""


class Coverage(NamedTuple):
    """Mentions of a type in the documents.

    Attributes:
        type: which.
        terms: different terms that the dictionary labels.
        labelled: its labels.
        found: what the model finds.
        both: what both say, to the letter.
    """

    type: str
    terms: int
    labelled: int
    found: int
    both: int


@dataclass(frozen=True)
class NewTerm:
    """A term that the model finds and the dictionary lacks.

    Attributes:
        surface: as it is written most often.
        type: that the model gives it most often.
        count: how often the model finds it.
        score: how sure it is, on average.
        before, match, after: one place where it stands.
    """

    surface: str
    type: str
    count: int
    score: float
    before: str
    match: str
    after: str


def coverage(words: Words, types: Sequence[str]) -> list[Coverage]:
    """One line for each type."""
    terms: dict[str, set[str]] = defaultdict(set)
    labelled: Counter[str] = Counter()
    found: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for document, entities in zip(words.documents, words.entities, strict=True):
        spans = set(document.spans)
        labelled.update(span.label for span in spans)
        found.update(entity.span.label for entity in entities)
        both.update(entity.span.label for entity in entities if entity.span in spans)
        for span in spans:
            terms[span.label].add(surface_key(document.surface(span)))
    return [Coverage(type_, len(terms[type_]), labelled[type_], found[type_], both[type_]) for type_ in types]


def new_terms(words: Words, known: Collection[str] = ()) -> list[NewTerm]:
    """The terms that are found most often and most surely first.

    Args:
        words: what the model makes of some documents.
        known: terms of the dictionary, beside those that it labels in the documents.
    """
    listed = {surface_key(term) for term in known}
    listed |= {surface_key(d.surface(span)) for d in words.documents for span in d.spans}
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, entities in enumerate(words.entities):
        for place, entity in enumerate(entities):
            key = surface_key(words.documents[number].surface(entity.span))
            if key not in listed:
                places[key].append((number, place))
    found = [_term(words, mentions) for mentions in places.values()]
    return sorted(found, key=lambda term: (-term.count * term.score, term.surface))


def _term(words: Words, mentions: Sequence[tuple[int, int]]) -> NewTerm:
    entities = [words.entities[number][place] for number, place in mentions]
    surfaces = Counter(
        words.documents[number].surface(entity.span) for (number, _), entity in zip(mentions, entities, strict=True)
    )
    number, place = max(mentions, key=lambda mention: words.entities[mention[0]][mention[1]].score)
    text, span = words.documents[number].text, words.entities[number][place].span
    return NewTerm(
        surfaces.most_common(1)[0][0][: 4 * AROUND],
        Counter(entity.span.label for entity in entities).most_common(1)[0][0],
        len(entities),
        sum(entity.score for entity in entities) / len(entities),
        text[max(0, span.start - AROUND) : span.start],
        text[span.start : span.end][: 4 * AROUND],
        text[span.end : span.end + AROUND],
    )
