"""The health report as one self-contained page: no script, nothing from the network, light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mproto.gazetteer.doctor import EntryHealth, Health, Sentence

ROWS = 500
"""Longer lists are cut, and say so; `--json` has everything."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --soft: #6b6b70; --line: #d8d8dc; --panel: #f5f5f7;
  --t0: #0b63b0; --t1: #b3400a; --t2: #176b3a; --t3: #7a2f8f; --t4: #7a5c00; --t5: #44546a }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf0; --paper: #17171a; --soft: #a0a0a8; --line: #38383d;
  --panel: #212125; --t0: #7cc0ff; --t1: #ffab7a; --t2: #7fdca0; --t3: #e0a6f2; --t4: #e8cd72; --t5: #b5c3d6 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
p { margin: .25rem 0; color: var(--soft) } ol { padding-left: 1.5rem } li { margin: .6rem 0 }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0 }
.card { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; min-width: 8rem }
.card b { display: block; font-size: 1.4rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .92rem }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--soft); font-weight: 600 } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
small, .why { color: var(--soft); font-size: .88rem } .term { font-weight: 600 }
mark { background: none; color: inherit; font-weight: 700; border-bottom: .18em solid var(--line) }
.t0 { border-color: var(--t0) } .t1 { border-color: var(--t1); border-bottom-style: double }
.t2 { border-color: var(--t2); border-bottom-style: dashed } .t3 { border-color: var(--t3); border-bottom-style: dotted }
.t4 { border-color: var(--t4) } .t5 { border-color: var(--t5); border-bottom-style: double }
.names { columns: 14rem; font-size: .92rem; padding-left: 1.2rem } .names li { margin: 0; break-inside: avoid }
"""


def page(health: Health) -> str:
    """The report as HTML; every text of the corpus and the gazetteer is escaped."""
    gold = health.scores is not None
    colours = {coverage.type: f"t{i % 6}" for i, coverage in enumerate(health.types)}
    often = sorted((h for h in health.found if h.hits > 1), key=lambda h: (h.precision, -h.hits))
    parts = [
        _cards(health),
        _section("Look at these first", "", _sentences(health.sentences, colours), len(health.sentences)),
        _section("What each type covers", "", _types(health), len(health.types)),
        _section(
            "Ambiguous terms",
            "Listed under several types.",
            _entries(health.ambiguous, gold=gold),
            len(health.ambiguous),
        ),
        _section(
            "Everyday words",
            "Common words, and names that are mostly found in lower case.",
            _entries(health.common, gold=gold),
            len(health.common),
        ),
        _section("Least precise", "Found more than once.", _entries(often, gold=True), len(often)) if gold else "",
        _section("Found terms", "Most hits first.", _entries(health.found, gold=gold), len(health.found)),
        _section(
            "Found inside longer terms only",
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
            "Nearly the same",
            "They differ only in case, punctuation, spacing or a plural.",
            _names(" = ".join(group) for group in health.near_duplicates),
            len(health.near_duplicates),
        ),
        _section("Longer than any document", "", _names(e.surface for e in health.too_long), len(health.too_long)),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Gazetteer report</title>'
        f"<style>{STYLE}</style></head><body><h1>Gazetteer report</h1>{''.join(parts)}</body></html>\n"
    )


def _cards(health: Health) -> str:
    entries = sum(coverage.entries for coverage in health.types)
    cards = [
        (f"{health.documents:,}", "documents"),
        (f"{health.words:,}", "words"),
        (f"{entries:,}", "entries"),
        (f"{len(health.found):,}", "terms found"),
        (f"{100 * health.covered / health.documents:.1f} %", "of documents hold one"),
    ]
    if health.scores:
        cards += [
            (f"{100 * value:.2f}", name)
            for name, value in zip(("precision", "recall", "F1"), _measures(health), strict=True)
        ]
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{value}</b>{name}</div>' for value, name in cards)
        + "</div>"
    )


def _measures(health: Health) -> tuple[float, float, float]:
    scores = health.scores
    return (scores.precision, scores.recall, scores.f1) if scores else (0.0, 0.0, 0.0)


def _section(title: str, about: str, body: str, count: int) -> str:
    if not count:
        return ""
    cut = f" The first {ROWS:,} of {count:,} are shown." if count > ROWS else ""
    return f"<section><h2>{title} <small>({count:,})</small></h2><p>{about}{cut}</p>{body}</section>"


def _sentences(sentences: Iterable[Sentence], colours: dict[str, str]) -> str:
    items = []
    for sentence in sentences:
        shown, position = "", 0
        for span in sorted(sentence.spans):
            if span.start < position:
                continue
            shown += escape(sentence.text[position : span.start])
            marked = escape(sentence.text[span.start : span.end])
            shown += f'<mark class="{colours[span.label]}" title="{escape(span.label)}">{marked}</mark>'
            position = span.end
        items.append(
            f'<li>{shown}{escape(sentence.text[position:])}<br><span class="why">{escape(sentence.why)}</span></li>'
        )
    legend = " ".join(f'<mark class="{colour}">{escape(label)}</mark>' for label, colour in colours.items())
    return f"<p>{legend}</p><ol>{''.join(items)}</ol>"


def _types(health: Health) -> str:
    rows = [(c.type, c.entries, c.used, c.hits, c.documents) for c in health.types]
    return _table(
        ("type", "entries", "found", "hits", "documents"), [[escape(r[0]), *(f"{n:,}" for n in r[1:])] for r in rows]
    )


def _entries(entries: Sequence[EntryHealth], *, gold: bool) -> str:
    header = ("term", "hits", *(("right",) if gold else ()), "where")
    rows = []
    for health in entries[:ROWS]:
        first = health.entries[0]
        place = escape(f"{' / '.join(health.types)} · {first.file.rpartition('/')[2]}:{first.line}")
        contexts = "<br>".join(
            f"<small>…{escape(c.before)}</small><b>{escape(c.match)}</b><small>{escape(c.after)}…</small>"
            for c in health.contexts
        )
        term = f'<span class="term">{escape(health.surface)}</span><br><small>{place}</small>'
        rows.append([term, f"{health.hits:,}", *([f"{100 * health.precision:.0f} %"] if gold else []), contexts])
    return _table(header, rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    numeric = {i for i, name in enumerate(header) if name in ("hits", "right", "entries", "found", "documents")}

    def cells(values: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{' class=n' * (i in numeric)}>{value}</{tag}>" for i, value in enumerate(values))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{cells(header, "th")}</tr>{body}</table></div>'


def _names(names: Iterable[str]) -> str:
    shown = [f"<li>{escape(name)}</li>" for _, name in zip(range(ROWS), names, strict=False)]
    return f'<ul class="names">{"".join(shown)}</ul>'
