"""SKOS vocabularies in Turtle, RDF/XML or N-Triples: preferred, alternative and hidden labels of concepts.

A concept's type is the one given, else the label of its top concept, else of its concept scheme.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

from mproto.errors import MissingExtraError
from mproto.gazetteer.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.io.sources import Source

_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|>([^<\n]+)<|\n')


def read(source: Source, type_: str | None, syntax: str, language: str | None = None) -> Iterator[Entry]:
    """Entries of all languages, or of one language and of labels without any."""
    try:
        import rdflib
        from rdflib.namespace import RDF, SKOS
    except ImportError:
        raise MissingExtraError("SKOS", "skos") from None
    graph, text = rdflib.Graph(), source.text()
    try:
        graph.parse(data=text, format=syntax)
    except Exception as error:  # each parser has its own
        what = " ".join(str(error).split())[:200]
        raise source.error(f"cannot be read as {syntax} ({what})", hint="check the file's ending and content") from None
    lines = _lines(text)
    concepts = sorted({*graph.subjects(RDF.type, SKOS.Concept), *graph.subjects(SKOS.prefLabel)}, key=str)
    for concept in concepts:
        if (concept, RDF.type, SKOS.ConceptScheme) in graph:
            continue
        kind = type_ or _type(graph, concept, SKOS)
        if kind is None:
            source.notes.reject(
                source.error(f"concept {concept} has neither top concept nor scheme", hint="use TYPE=FILE")
            )
            continue
        for label in _labels(graph, concept, SKOS, language):
            yield Entry(label, kind, str(concept), None, str(source.path), lines.get(label, 0))


def _lines(text: str) -> dict[str, int]:
    """The first line that each literal stands in."""
    lines: dict[str, int] = {}
    line = 1
    for match in _LITERAL.finditer(text):
        if match[0] == "\n":
            line += 1
        else:
            lines.setdefault(unescape((match[1] or match[2] or "").replace('\\"', '"')).strip(), line)
    return lines


def _labels(graph: Any, concept: Any, skos: Any, language: str | None = None) -> list[str]:
    found = [
        str(label).strip()
        for name in (skos.prefLabel, skos.altLabel, skos.hiddenLabel)
        for label in sorted(graph.objects(concept, name))
        if language is None or (getattr(label, "language", None) or language).split("-")[0] == language
    ]
    return [label for label in dict.fromkeys(found) if label]


def _type(graph: Any, concept: Any, skos: Any) -> str | None:
    """The name of the top concept above this one, else of its scheme."""
    seen, place = set(), concept
    while place not in seen:
        seen.add(place)
        place = next(iter(sorted(graph.objects(place, skos.broader))), place)
    is_top = place != concept and (
        (place, skos.topConceptOf, None) in graph or (None, skos.hasTopConcept, place) in graph
    )
    schemes = sorted(graph.objects(concept, skos.inScheme)) + sorted(graph.objects(concept, skos.topConceptOf))
    for named in ([place] if is_top else []) + schemes:
        labels = _labels(graph, named, skos) or [str(named).rstrip("/#").rpartition("/")[2].rpartition("#")[2]]
        if labels[0]:
            return labels[0]
    return None
