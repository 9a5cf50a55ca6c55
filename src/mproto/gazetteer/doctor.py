"""Check a gazetteer against a corpus: find its matches, and select terms to review."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mproto.gazetteer.annotate import INSPECTED_DOCUMENTS
from mproto.gazetteer.common_words import COMMON_WORDS
from mproto.gazetteer.forms import forms
from mproto.gazetteer.matcher import resolve
from mproto.gazetteer.names import matcher_with_detected_names
from mproto.gazetteer.options import MatchOptions
from mproto.text.document import Span
from mproto.text.scoring import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mproto.gazetteer.entries import Entry, Gazetteer
    from mproto.gazetteer.matcher import Match, Matcher
    from mproto.text.document import Document

CONTEXTS, CONTEXT_WIDTH, SENTENCES = 3, 40, 10
LONGEST_INSIDE = 10


class Context(NamedTuple):
    """A match in context: the text before it, the match, the text after it, with `…` where the text is cut."""

    before: str
    match: str
    after: str


def _context(text: str, start: int, end: int) -> Context:
    before, after = max(0, start - CONTEXT_WIDTH), min(len(text), end + CONTEXT_WIDTH)
    cut_before, cut_after = "…" * (before > 0), "…" * (after < len(text))
    return Context(cut_before + text[before:start], text[start:end], text[end:after] + cut_after)


@dataclass
class EntryHealth:
    """The matches of one term in the corpus. A term with several types counts as one.

    Attributes:
        entries: its entries, one for each time that it is listed.
        hits: the number of matches, not counting those inside longer terms.
        correct: the number of correct hits, if the corpus has gold spans.
        lower: the number of hits in lower case, if the term has a capital.
        contexts: the first hits in context.
    """

    entries: tuple[Entry, ...]
    hits: int = 0
    correct: int = 0
    lower: int = 0
    contexts: list[Context] = field(default_factory=list)

    @property
    def surface(self) -> str:
        return self.entries[0].surface

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(entry.type for entry in self.entries))

    @property
    def precision(self) -> float:
        return self.correct / self.hits if self.hits else 0.0


class Sentence(NamedTuple):
    """A document to review: its text, its matches, and the reason."""

    text: str
    spans: tuple[Span, ...]
    why: str


@dataclass(frozen=True)
class TypeCoverage:
    """The coverage of one type.

    Attributes:
        type: the type.
        entries: the number of its entries.
        used: the number of its terms that were found.
        hits: the number of matches.
        documents: the number of documents with a match.
    """

    type: str
    entries: int
    used: int
    hits: int
    documents: int


@dataclass(frozen=True)
class Health:
    """The report. Lists are sorted by importance.

    Attributes:
        documents, words: the size of the corpus.
        covered: the number of documents with a match.
        types: the coverage of each type.
        names: the types that are names, given by the options or detected in this corpus.
        found: the terms that were found, most hits first.
        dead: the terms that were never found.
        inside: the terms found only inside longer terms, with their counts.
        ambiguous: found terms with more than one type.
        common: found terms that are common words, and capitalised terms found mostly in lower case.
        duplicates: entries listed more than once under one type, with their counts.
        near_duplicates: groups of terms that differ only in case, punctuation, spacing or a plural.
        too_long: entries with more words than the longest document.
        sentences: the documents to review first.
        scores: the scores of the gazetteer's labels, if the corpus has gold spans.
    """

    documents: int
    words: int
    covered: int
    types: tuple[TypeCoverage, ...]
    names: tuple[str, ...]
    found: tuple[EntryHealth, ...]
    dead: tuple[EntryHealth, ...]
    inside: tuple[tuple[EntryHealth, int], ...]
    ambiguous: tuple[EntryHealth, ...]
    common: tuple[EntryHealth, ...]
    duplicates: tuple[tuple[Entry, int], ...]
    near_duplicates: tuple[tuple[str, ...], ...]
    too_long: tuple[Entry, ...]
    sentences: tuple[Sentence, ...]
    scores: Counts | None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return {
            "documents": self.documents,
            "words": self.words,
            "covered_documents": self.covered,
            "types": [coverage.__dict__ for coverage in self.types],
            "names": self.names,
            "entries": [self._entry(health) for health in self.found],
            "dead": [health.surface for health in self.dead],
            "inside_longer": [{"surface": health.surface, "times": times} for health, times in self.inside],
            "ambiguous": [self._entry(health) for health in self.ambiguous],
            "common_words": [self._entry(health) for health in self.common],
            "duplicates": [{"surface": e.surface, "type": e.type, "times": times} for e, times in self.duplicates],
            "near_duplicates": self.near_duplicates,
            "longer_than_any_document": [entry.surface for entry in self.too_long],
            "sentences": [
                {"text": s.text, "spans": [span._asdict() for span in s.spans], "why": s.why} for s in self.sentences
            ],
            "scores": self.scores.as_dict() if self.scores else None,
        }

    def _entry(self, health: EntryHealth) -> dict[str, Any]:
        first = health.entries[0]
        shown: dict[str, Any] = {
            "surface": health.surface,
            "types": health.types,
            "hits": health.hits,
            "file": first.file,
            "line": first.line,
            "contexts": [f"{c.before}[{c.match}]{c.after}" for c in health.contexts],
        }
        return shown | ({"precision": health.precision} if self.scores else {})


def examine(documents: Iterable[Document], gazetteer: Gazetteer, options: MatchOptions = MatchOptions()) -> Health:
    """Check a gazetteer against a corpus.

    If the documents are labelled, the precision of every term is computed too. The labels are their
    gold spans, or their spans if they have no gold spans.
    """
    stream = iter(documents)
    inspected = list(islice(stream, INSPECTED_DOCUMENTS))
    examination = _Examination(matcher_with_detected_names(gazetteer, options, inspected))
    for document in chain(inspected, stream):
        examination.add(document)
    return examination.report()


class _Examination:
    def __init__(self, matcher: Matcher) -> None:
        self.matcher, self.gazetteer, self.options = matcher, matcher.gazetteer, matcher.options
        gazetteer = self.gazetteer
        by_surface: dict[str, list[Entry]] = defaultdict(list)
        for entry in gazetteer:
            by_surface[entry.surface].append(entry)
        self.health = {surface: EntryHealth(tuple(entries)) for surface, entries in by_surface.items()}
        self.documents = self.words = self.covered = self.longest = 0
        self.type_hits: Counter[str] = Counter()
        self.type_documents: Counter[str] = Counter()
        self.part_counts: Counter[tuple[str, ...]] = Counter()
        self.matched: list[tuple[Document, tuple[str, ...]]] = []
        self.has_gold = False
        self.counts = [0, 0, 0]

    def add(self, document: Document) -> None:
        texts = document.word_texts
        self.documents += 1
        self.words += len(texts)
        self.longest = max(self.longest, len(texts))
        gold = document.gold if document.gold is not None else document.spans
        self.has_gold |= document.gold is not None or bool(document.spans)
        gold_spans = set(gold)
        labelled: set[str] = set()
        matches = self.matcher.matches(texts)
        for match in matches:
            labels = resolve([entry.type for entry in match.entries], self.options)
            start, end = document.words[match.start].start, document.words[match.end - 1].end
            is_correct = any(Span(start, end, label) in gold_spans for label in labels)
            labelled.update(labels)
            self.type_hits.update(labels)
            self.counts[0] += is_correct
            self.counts[1] += len(labels)
            self._count(document, match, start, end, is_correct=is_correct)
        self.counts[2] += len(gold_spans)
        self.covered += bool(matches)
        self.type_documents.update(labelled)
        if matches:
            self.matched.append((document, tuple({e.surface for m in matches for e in m.entries})))

    def _count(self, document: Document, match: Match, start: int, end: int, *, is_correct: bool) -> None:
        written = document.text[start:end]
        for surface in {entry.surface for entry in match.entries}:
            health = self.health[surface]
            health.hits += 1
            health.correct += is_correct
            health.lower += surface[0].isupper() and written.islower()
            if len(health.contexts) < CONTEXTS:
                health.contexts.append(_context(document.text, start, end))
        if match.end - match.start > 1:
            words = document.word_texts[match.start : match.end]
            self.part_counts.update(_proper_parts([word.casefold() for word in words]))

    def report(self) -> Health:
        found = sorted((h for h in self.health.values() if h.hits), key=lambda h: (-h.hits, h.surface))
        unused = [h for h in self.health.values() if not h.hits]
        inside = [
            (h, max((self.part_counts[form] for form in forms(h.surface, self.options)), default=0)) for h in unused
        ]
        ambiguous = [h for h in found if len(h.types) > 1]
        common = [h for h in found if h.surface.casefold() in COMMON_WORDS or h.lower * 2 > h.hits]
        return Health(
            documents=self.documents,
            words=self.words,
            covered=self.covered,
            types=tuple(self._coverage(type_) for type_ in self.gazetteer.types),
            names=tuple(sorted(self.options.names or ())),
            found=tuple(found),
            dead=tuple(h for h, times in inside if not times),
            inside=tuple(sorted(((h, t) for h, t in inside if t), key=lambda pair: -pair[1])),
            ambiguous=tuple(ambiguous),
            common=tuple(common),
            duplicates=_duplicates(self.gazetteer),
            near_duplicates=_near_duplicates(self.gazetteer),
            too_long=tuple(e for e in self.gazetteer if len(e.surface.split()) > self.longest),
            sentences=tuple(self._sentences(ambiguous, common, found)),
            scores=Counts(*self.counts) if self.has_gold else None,
        )

    def _coverage(self, type_: str) -> TypeCoverage:
        of_type = [health for health in self.health.values() if type_ in health.types]
        return TypeCoverage(
            type_,
            self.gazetteer.sizes[type_],
            sum(health.hits > 0 for health in of_type),
            self.type_hits[type_],
            self.type_documents[type_],
        )

    def _sentences(
        self, ambiguous: Sequence[EntryHealth], common: Sequence[EntryHealth], found: Sequence[EntryHealth]
    ) -> Iterator[Sentence]:
        """Yield a document for each problematic term, preferring documents with several of them."""
        why = {h.surface: "is often wrong here" for h in found if self.has_gold and h.hits > 1 and h.precision < 0.5}
        why |= {health.surface: "is a common word" for health in common}
        why |= {health.surface: f"is listed under {' and '.join(health.types)}" for health in ambiguous}
        problematic = sorted(why, key=lambda s: (-self.health[s].hits, len(self.health[s].types) == 1))
        others = [health.surface for health in found if health.surface not in why]
        chosen: set[int] = set()
        for surface in [*problematic, *others]:
            if len(chosen) == SENTENCES:
                return
            candidates = [i for i, (_, terms) in enumerate(self.matched) if surface in terms and i not in chosen]
            if not candidates:
                continue
            best = max(candidates, key=lambda i: sum(term in why for term in self.matched[i][1]))
            chosen.add(best)
            document = self.matched[best][0]
            reason = why.get(surface, f"is found {self.health[surface].hits} times")
            labelled = document.relabelled(self.matcher.word_spans(document), keep=False)
            yield Sentence(document.text, labelled.spans, f"“{surface}” {reason}")


def _proper_parts(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield all proper parts of a sequence of words, up to `LONGEST_INSIDE` words long."""
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + LONGEST_INSIDE) + 1):
            if end - start < len(words):
                yield tuple(words[start:end])


def _duplicates(gazetteer: Gazetteer) -> tuple[tuple[Entry, int], ...]:
    first = {(entry.surface, entry.type): entry for entry in reversed(gazetteer.entries)}
    counts = Counter((entry.surface, entry.type) for entry in gazetteer)
    return tuple((first[key], times) for key, times in counts.most_common() if times > 1)


def _near_duplicates(gazetteer: Gazetteer) -> tuple[tuple[str, ...], ...]:
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for surface in dict.fromkeys(entry.surface for entry in gazetteer):
        key = re.sub(r"[\W_]+", "", surface.casefold()) or surface
        groups[key.removesuffix("s") if len(key) > 3 else key][surface] = None
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)
