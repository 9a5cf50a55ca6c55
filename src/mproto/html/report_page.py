"""A report as one self-contained HTML page. Whatever comes from documents or term lists is escaped."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

from mproto.html import charts, markup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.analysis.prototypes import Card, Flow
    from mproto.analysis.report import Findings, Point, Report
    from mproto.text.document import Span
    from mproto.text.scoring import Counts, Scores

MOST_TERMS = 100
"""Of the terms that are found."""

STYLE = (
    """
body { overflow-wrap: anywhere }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0 0; font-size: .92rem } a { color: var(--t0) }
.protos { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: .75rem }
.proto { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; overflow-wrap: anywhere }
.proto ul { list-style: none; padding: 0; margin: .4rem 0 0 } .proto li { margin: .15rem 0; font-size: .88rem }
.proto h3 { margin: 0 }
#map use { cursor: pointer } #tip { position: fixed; display: none; max-width: min(24rem, 90vw); background: var(--panel);
  border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .6rem; font-size: .88rem; pointer-events: none }
.side { display: block } .tag { color: var(--soft); font-size: .8rem; display: inline-block; min-width: 6rem }
"""
    + charts.STYLE
)

SCRIPT = """
const words = JSON.parse(document.getElementById("points").textContent);
const map = document.getElementById("map"), tip = document.getElementById("tip");
function place_of(event) {  // the point under the pointer, or for a finger the nearest
  const own = event.target.dataset ? event.target.dataset.i : undefined;
  if (own !== undefined || event.pointerType === "mouse") return own;
  let best, least = 24;
  for (const use of map.querySelectorAll("use")) {
    const box = use.getBoundingClientRect();
    const away = Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    if (away < least) [best, least] = [use.dataset.i, away];
  }
  return best;
}
function show(event) {
  const place = place_of(event);
  if (place === undefined) { hide(); return; }
  const [before, word, after, kind, label, prototype] = words[place];
  const bold = document.createElement("b");
  bold.textContent = word;
  tip.replaceChildren(before, bold, after, document.createElement("br"),
    kind + (label ? " · dictionary: " + label : "") + (prototype ? " · nearest: " + prototype : ""));
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 12, innerHeight - box.height - 8)) + "px";
}
function hide() { tip.style.display = "none"; }
map.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") show(event); });
map.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
document.addEventListener("pointerdown", (event) => { map.contains(event.target) ? show(event) : hide(); });
"""


def report_page(report: Report) -> bytes:
    """The page, in UTF-8; its sections have ids, so that one can link to them."""
    sections = [("run", "The run", _facts(report)), ("curves", "Learning curves", _curves(report))]
    if report.findings:
        sections += _found(report, report.findings)
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in sections)
    body = "".join(f'<section id="{key}"><h2>{title}</h2>{content}</section>' for key, title, content in sections)
    return markup.page("Training report", f"<nav>{links}</nav>{body}", STYLE).encode("utf-8", "backslashreplace")


def _facts(report: Report) -> str:
    return markup.table(("", ""), [(escape(name), escape(value)) for name, value in report.facts.items()])


def _curves(report: Report) -> str:
    if not report.curves:
        return "<p>There is no history.</p>"
    shown = (f"<div><h3>{escape(title)}</h3>{charts.line_chart(found)}</div>" for title, found in report.curves.items())
    return f'<div class="charts">{"".join(shown)}</div>'


def _found(report: Report, findings: Findings) -> list[tuple[str, str, str]]:
    """The sections that need a corpus."""
    sections = [("corpus", "The corpus", _corpus(findings))]
    if findings.has_dictionary:
        sections.append(("coverage", "What the dictionary covers", _coverage(findings)))
    if findings.scores:
        sections.append(("scores", "Scores", _scores(findings.scores, findings.corpus)))
    sections.append(("words", "Map of words", _map(report, findings)))
    if findings.cards:
        sections.append(("prototypes", "Prototypes", _cards(findings.cards)))
    if findings.flow:
        sections.append(
            ("transport", "Where transport sends words without a label", _flow(findings.flow, report.classes))
        )
    sections.append(("hardest", "Read these first", _hardest(report, findings)))
    sections.append(
        ("terms", "Terms that the dictionary lacks" if findings.has_dictionary else "Terms found", _terms(findings))
    )
    return sections


def _corpus(findings: Findings) -> str:
    whole = findings.documents == findings.of
    sampled = "" if whole else f" They were drawn at random from {findings.of:,}."
    name = f"{escape(findings.corpus)}: " if findings.corpus else ""
    without = "" if findings.has_dictionary else " No dictionary labelled them."
    return f"<p>{name}{findings.documents:,} documents with {findings.words:,} words.{sampled}{without}</p>"


def _coverage(findings: Findings) -> str:
    header = ("type", "different terms", "labelled", "found by the model", "both", "found beyond the dictionary")
    rows = [
        [escape(c.type), *(f"{n:,}" for n in (c.terms, c.labelled, c.found, c.both, c.found - c.both))]
        for c in findings.coverage
    ]
    return markup.table(header, rows, range(1, 6))


def _scores(scores: Scores, corpus: str) -> str:
    on = f" of {escape(corpus)}" if corpus else ""
    about = f"<p>Against people's labels{on}, {scores.documents:,} documents.</p>"
    lines: list[tuple[str, Counts]] = [("all", scores.overall)]
    lines += list(scores.types.items())
    lines += [("boundaries (Loc.)", scores.loc), ("types (Cls.)", scores.cls)]
    lines += [("terms in the dictionary", scores.seen)] if scores.seen else []
    lines += [("terms not in it", scores.unseen)] if scores.unseen else []
    intervals = {"all": "overall", "boundaries (Loc.)": "loc", "types (Cls.)": "cls"}
    rows = []
    for place, (name, counts) in enumerate(lines):
        measured = "" if 0 < place <= len(scores.types) else intervals.get(name, "")
        interval = scores.intervals.get(measured, {}).get("f1")
        between = f"{100 * interval.low:.1f} – {100 * interval.high:.1f}" if interval else ""
        figures = (f"{100 * value:.2f}" for value in (counts.precision, counts.recall, counts.f1))
        rows.append([escape(name), *figures, between, f"{counts.gold:,}"])
    header = ("", "precision", "recall", "F1", "95 % of resamples", "entities")
    return about + markup.table(header, rows, range(1, 6))


def _map(report: Report, findings: Findings) -> str:
    word_map = findings.word_map
    by = "people's labels, or predictions where there are none" if findings.by_people else "predictions"
    large = " Large marks are prototypes." if word_map.prototypes else ""
    about = (
        f"<p>{len(word_map.points):,} words, drawn at random, of each class (by {by}) as many as of any other if it has so "
        f"many; laid out by {word_map.method}. Point at one, or tap near it, to see where it stands.{large}</p>"
    )
    points = charts.scatter(
        ((p.x, p.y, p.number) for p in word_map.points), ((p.x, p.y, p.number, p.word) for p in word_map.prototypes)
    )
    rows = [_row(point, report.classes, told=findings.has_dictionary) for point in word_map.points]
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'{about}{charts.shape_keys(report.classes)}{points}<div id="tip" role="tooltip"></div>'
        f'<script type="application/json" id="points">{data}</script><script>{SCRIPT}</script>'
    )


def _row(point: Point, classes: tuple[str, ...], *, told: bool) -> tuple[str, ...]:
    """What is shown of a word, and what the dictionary calls it where there is one."""
    label = point.label if told else ""
    return (point.before, point.word, point.after, classes[point.number], label, point.prototype)


def _cards(cards: Iterable[Card]) -> str:
    shown = []
    for card in cards:
        nearest = "".join(
            f"<li><small>{escape(n.before)}</small><b>{escape(n.word)}</b><small>{escape(n.after)}</small></li>"
            for n in card.nearest
        )
        share = f"; the dictionary labels {card.labelled:,} of them so" if card.number else ""
        served = f"nearest to {card.served:,} words{share}" if card.served else "nearest to no word"
        shown.append(f'<div class="proto"><h3>{escape(card.name)}</h3><p>{served}</p><ul>{nearest}</ul></div>')
    return f'<p>Different words, the nearest first.</p><div class="protos">{"".join(shown)}</div>'


def _flow(found: Flow, classes: tuple[str, ...]) -> str:
    side = "people" if found.by_people else "the model"
    rows = []
    for name, counts in zip(classes, found.counts.tolist(), strict=True):
        total = sum(counts)
        cells = [_heat(count, total) for count in counts]
        rows.append([escape(name), *cells, f"{total:,}"])
    about = (
        f"<p>Words that the dictionary does not label: each line is what {side} call them, each column the class of the "
        "prototype that denoised transport assigns them to, in percent of the line. Training with denoised transport learns "
        "those under O as O.</p>"
    )
    return about + markup.table(("", *classes, "words"), rows, range(1, len(classes) + 2))


def _heat(count: int, total: int) -> str:
    share = 100 * count / total if total else 0.0
    colour = f"color-mix(in srgb, var(--t0) {share * 0.6:.0f}%, transparent)"
    return f'<span style="display:block;padding:0 .3rem;background:{colour}">{share:.1f}</span>'


def _hardest(report: Report, findings: Findings) -> str:
    colours = dict(list(markup.colour_of(report.classes).items())[1:])  # those of the map, without O
    for hard in findings.hardest:  # types that the model does not know
        for span in hard.right:
            colours.setdefault(span.label, "")
    about = (
        "Where model and people differ most."
        if findings.by_people
        else "Where the model does not find what the dictionary labels: either may be wrong."
    )
    items = "".join(
        f"<li>{_side('people' if hard.by_people else 'dictionary', hard.text, hard.right, colours)}"
        f"{_side('model', hard.text, hard.found, colours)}</li>"
        for hard in findings.hardest
    )
    return f"<p>{about}</p>{markup.legend(colours)}<ol>{items}</ol>" if items else f"<p>{about} There are none.</p>"


def _side(who: str, text: str, spans: Iterable[Span], colours: dict[str, str]) -> str:
    """A text as one of the two sees it."""
    shown = markup.marked(text, spans, colours, named=True)
    return f'<span class="side"><span class="tag">{who}</span>{shown}</span>'


def _terms(findings: Findings) -> str:
    rows = [
        [
            f'<span class="term">{escape(term.surface)}</span>',
            escape(term.type),
            f"{term.count:,}",
            f"{term.score:.2f}",
            f"<small>{escape(term.before)}</small><b>{escape(term.match)}</b><small>{escape(term.after)}</small>",
        ]
        for term in findings.terms[:MOST_TERMS]
    ]
    if not rows:
        return "<p>The model found none.</p>"
    cut = f" The first {MOST_TERMS} of {len(findings.terms):,} are shown." if len(findings.terms) > MOST_TERMS else ""
    lacks = " and the dictionary lacks" if findings.has_dictionary else ""
    about = f"<p>What the model found{lacks}, what it finds often and surely first. Some of it is wrong.{cut}</p>"
    return about + markup.table(("term", "type", "found", "score", "for example"), rows, (2, 3))
