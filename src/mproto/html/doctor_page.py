"""The gazetteer report as a self-contained HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mproto.html import markup
from mproto.html.markup import colour_of, legend, marked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mproto.gazetteer.doctor import EntryHealth, Health, Sentence

ROWS = 500
"""The maximum length of a list. Longer lists are cut, with a note; `--json` prints all entries."""


def page(health: Health) -> str:
    """Return the report as HTML. All text of the corpus and the gazetteer is escaped."""
    gold = health.scores is not None
    colours = colour_of([coverage.type for coverage in health.types])
    repeated = sorted((h for h in health.found if h.hits > 1), key=lambda h: (h.precision, -h.hits))
    parts = [
        _cards(health),
        _section("Review these first", "", _sentences(health.sentences, colours), len(health.sentences)),
        _section("Coverage by type", _about_names(health), _types(health), len(health.types)),
        _section(
            "Ambiguous terms",
            "Terms listed under several types.",
            _entries(health.ambiguous, gold=gold),
            len(health.ambiguous),
        ),
        _section(
            "Common words",
            "Common English words, and capitalised terms found mostly in lower case.",
            _entries(health.common, gold=gold),
            len(health.common),
        ),
        _section("Lowest precision", "Terms found more than once.", _entries(repeated, gold=True), len(repeated))
        if gold
        else "",
        _section("Found terms", "Most hits first.", _entries(health.found, gold=gold), len(health.found)),
        _section(
            "Found only inside longer terms",
            "",
            _names(f"{h.surface} ({times})" for h, times in health.inside),
            len(health.inside),
        ),
        _section("Never found", "", _names(h.surface for h in health.dead), len(health.dead)),
        _section(
            "Listed more than once",
            "",
            _names(f"{e.surface} ({n} times)" for e, n in health.duplicates),
            len(health.duplicates),
        ),
        _section(
            "Near-duplicates",
            "Terms that differ only in case, punctuation, spacing or a plural.",
            _names(" = ".join(group) for group in health.near_duplicates),
            len(health.near_duplicates),
        ),
        _section("Longer than any document", "", _names(e.surface for e in health.too_long), len(health.too_long)),
    ]
    return markup.page("Gazetteer report", "".join(parts))


def _cards(health: Health) -> str:
    entries = sum(coverage.entries for coverage in health.types)
    shown = [
        (f"{health.documents:,}", "documents"),
        (f"{health.words:,}", "words"),
        (f"{entries:,}", "entries"),
        (f"{len(health.found):,}", "terms found"),
        (f"{100 * health.covered / max(health.documents, 1):.1f} %", "of documents contain a term"),
    ]
    if health.scores:
        shown += [
            (f"{100 * value:.2f}", name)
            for name, value in zip(("precision", "recall", "F1"), _measures(health), strict=True)
        ]
    return markup.cards(shown)


def _measures(health: Health) -> tuple[float, float, float]:
    scores = health.scores
    return (scores.precision, scores.recall, scores.f1) if scores else (0.0, 0.0, 0.0)


def _section(title: str, about: str, body: str, count: int) -> str:
    if not count:
        return ""
    cut = f" The first {ROWS:,} of {count:,} are shown." if count > ROWS else ""
    return f"<section><h2>{title} <small>({count:,})</small></h2><p>{about}{cut}</p>{body}</section>"


def _sentences(sentences: Iterable[Sentence], colours: dict[str, str]) -> str:
    items = (
        f'<li>{marked(sentence.text, sentence.spans, colours)}<br><span class="why">{escape(sentence.why)}</span></li>'
        for sentence in sentences
    )
    return f"{legend(colours)}<ol>{''.join(items)}</ol>"


def _about_names(health: Health) -> str:
    return f"Types whose terms are names (capitals matter): {escape(', '.join(health.names))}." if health.names else ""


def _types(health: Health) -> str:
    rows = [(c.type, c.entries, c.used, c.hits, c.documents) for c in health.types]
    return _table(
        ("type", "entries", "found", "hits", "documents"), [[escape(r[0]), *(f"{n:,}" for n in r[1:])] for r in rows]
    )


def _entries(entries: Sequence[EntryHealth], *, gold: bool) -> str:
    header = ("term", "hits", *(("precision",) if gold else ()), "contexts")
    rows = []
    for health in entries[:ROWS]:
        first = health.entries[0]
        origin = escape(f"{' / '.join(health.types)} · {first.file.rpartition('/')[2]}:{first.line}")
        contexts = "<br>".join(
            f"<small>{escape(c.before)}</small><b>{escape(c.match)}</b><small>{escape(c.after)}</small>"
            for c in health.contexts
        )
        term = f'<span class="term">{escape(health.surface)}</span><br><small>{origin}</small>'
        rows.append([term, f"{health.hits:,}", *([f"{100 * health.precision:.0f} %"] if gold else []), contexts])
    return _table(header, rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    numeric = ("hits", "precision", "entries", "found", "documents")
    return markup.table(header, rows, [i for i, name in enumerate(header) if name in numeric])


def _names(names: Iterable[str]) -> str:
    shown = [f"<li>{escape(name)}</li>" for _, name in zip(range(ROWS), names, strict=False)]
    return f'<ul class="names">{"".join(shown)}</ul>'
