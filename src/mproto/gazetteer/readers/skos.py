"""SKOS vocabularies in Turtle, RDF/XML or N-Triples: all labels of concepts.

The type of a concept is the given one, else the label of its top concept, else the label of its
concept scheme.
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
    """Read the labels of one language and labels without a language; `None` reads all languages."""
    try:
        import rdflib
        from rdflib.namespace import RDF, SKOS
    except ImportError:
        raise MissingExtraError("SKOS", "skos") from None
    graph, text = rdflib.Graph(), source.text()
    try:
        graph.parse(data=text, format=syntax)
    except Exception as error:  # each parser raises different errors
        message = " ".join(str(error).split())[:200]
        raise source.error(
            f"cannot be read as {syntax} ({message})", hint="check the file's ending and content"
        ) from None
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
    """Return the first line of each literal."""
    lines: dict[str, int] = {}
    line = 1
    for match in _LITERAL.finditer(text):
        if match[0] == "\n":
            line += 1
        else:
            lines.setdefault(unescape((match[1] or match[2] or "").replace('\\"', '"')).strip(), line)
    return lines


def _labels(graph: Any, concept: Any, skos: Any, language: str | None = None) -> list[str]:
    labels = [
        str(label).strip()
        for name in (skos.prefLabel, skos.altLabel, skos.hiddenLabel)
        for label in sorted(graph.objects(concept, name))
        if language is None or (getattr(label, "language", None) or language).split("-")[0] == language
    ]
    return [label for label in dict.fromkeys(labels) if label]


def _type(graph: Any, concept: Any, skos: Any) -> str | None:
    """Return the label of the top concept above this one, else of its scheme."""
    visited, top = set(), concept
    while top not in visited:
        visited.add(top)
        top = next(iter(sorted(graph.objects(top, skos.broader))), top)
    is_top = top != concept and ((top, skos.topConceptOf, None) in graph or (None, skos.hasTopConcept, top) in graph)
    schemes = sorted(graph.objects(concept, skos.inScheme)) + sorted(graph.objects(concept, skos.topConceptOf))
    for resource in ([top] if is_top else []) + schemes:
        labels = _labels(graph, resource, skos) or [str(resource).rstrip("/#").rpartition("/")[2].rpartition("#")[2]]
        if labels[0]:
            return labels[0]
    return None
