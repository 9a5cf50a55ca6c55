"""The training report as a self-contained HTML page.

All text from documents and gazetteers is escaped.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

from mproto.html import charts, markup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.analysis.prototypes import PrototypeCard, Reassignment
    from mproto.analysis.report import Findings, Point, Report
    from mproto.text.document import Span
    from mproto.text.scoring import Counts, Scores

MOST_TERMS = 100
"""The maximum number of missing terms shown."""

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
function place_of(event) {  // the point under the pointer, or the nearest one for touch
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
    kind + (label ? " · gazetteer: " + label : "") + (prototype ? " · nearest: " + prototype : ""));
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
    """Return the page, in UTF-8. Its sections have ids for links."""
    sections = [("run", "The run", _facts(report)), ("curves", "Learning curves", _curves(report))]
    if report.findings:
        sections += _corpus_sections(report, report.findings)
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in sections)
    body = "".join(f'<section id="{key}"><h2>{title}</h2>{content}</section>' for key, title, content in sections)
    return markup.page("Training report", f"<nav>{links}</nav>{body}", STYLE).encode("utf-8", "backslashreplace")


def _facts(report: Report) -> str:
    return markup.table(("", ""), [(escape(name), escape(value)) for name, value in report.facts.items()])


def _curves(report: Report) -> str:
    if not report.curves:
        return "<p>The run has no history.</p>"
    shown = (
        f"<div><h3>{escape(title)}</h3>{charts.line_chart(curves)}</div>" for title, curves in report.curves.items()
    )
    return f'<div class="charts">{"".join(shown)}</div>'


def _corpus_sections(report: Report, findings: Findings) -> list[tuple[str, str, str]]:
    """Return the id, title and content of each section about the corpus."""
    sections = [("corpus", "The corpus", _corpus(findings))]
    if findings.has_gazetteer:
        sections.append(("coverage", "Coverage of the gazetteer", _coverage(findings)))
    if findings.scores:
        sections.append(("scores", "Scores", _scores(findings.scores, findings.corpus)))
    sections.append(("words", "Map of words", _map(report, findings)))
    if findings.cards:
        sections.append(("prototypes", "Prototypes", _cards(findings.cards)))
    if findings.reassignment:
        content = _left_out(findings.reassignment, report.classes)
        sections.append(("left-out", "Words labelled O that training leaves out", content))
    sections.append(("disagreements", "Read these first", _disagreements(report, findings)))
    title = "Terms missing from the gazetteer" if findings.has_gazetteer else "Terms found by the model"
    sections.append(("terms", title, _terms(findings)))
    return sections


def _corpus(findings: Findings) -> str:
    whole = findings.documents == findings.of
    sampled = "" if whole else f" This is a random sample of {findings.of:,} documents."
    name = f"{escape(findings.corpus)}: " if findings.corpus else ""
    without = "" if findings.has_gazetteer else " There is no gazetteer."
    return f"<p>{name}{findings.documents:,} documents with {findings.words:,} words.{sampled}{without}</p>"


def _coverage(findings: Findings) -> str:
    header = ("type", "different terms", "labelled", "found by the model", "both", "found, but not labelled")
    rows = [
        [escape(c.type), *(f"{n:,}" for n in (c.terms, c.labelled, c.found, c.both, c.found - c.both))]
        for c in findings.coverage
    ]
    return markup.table(header, rows, range(1, 6))


def _scores(scores: Scores, corpus: str) -> str:
    on = f" of {escape(corpus)}" if corpus else ""
    about = f"<p>Scores against the human labels{on}: {scores.documents:,} documents.</p>"
    lines: list[tuple[str, Counts]] = [("all", scores.overall)]
    lines += list(scores.types.items())
    lines += [("boundaries (Loc.)", scores.loc), ("types (Cls.)", scores.cls)]
    lines += [("terms in the gazetteer", scores.seen)] if scores.seen else []
    lines += [("terms not in the gazetteer", scores.unseen)] if scores.unseen else []
    intervals = {"all": "overall", "boundaries (Loc.)": "loc", "types (Cls.)": "cls"}
    rows = []
    for place, (name, counts) in enumerate(lines):
        measured = "" if 0 < place <= len(scores.types) else intervals.get(name, "")
        interval = scores.intervals.get(measured, {}).get("f1")
        between = f"{100 * interval.low:.1f} – {100 * interval.high:.1f}" if interval else ""
        figures = (f"{100 * value:.2f}" for value in (counts.precision, counts.recall, counts.f1))
        rows.append([escape(name), *figures, between, f"{counts.gold:,}"])
    header = ("", "precision", "recall", "F1", "95 % interval of F1", "entities")
    return about + markup.table(header, rows, range(1, 6))


def _map(report: Report, findings: Findings) -> str:
    word_map = findings.word_map
    by = "human label, or predicted class if there is none" if findings.human_labelled else "predicted class"
    large = " Large marks are prototypes." if word_map.prototypes else ""
    about = (
        f"<p>A random sample of {len(word_map.points):,} words, balanced by class ({by}), as a {word_map.method} map of "
        f"their features. Point at a word, or tap near it, to see its context.{large}</p>"
    )
    points = charts.scatter(
        ((p.x, p.y, p.class_number) for p in word_map.points),
        ((p.x, p.y, p.class_number, p.word) for p in word_map.prototypes),
    )
    rows = [_row(point, report.classes, labelled=findings.has_gazetteer) for point in word_map.points]
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'{about}{charts.shape_legend(report.classes)}{points}<div id="tip" role="tooltip"></div>'
        f'<script type="application/json" id="points">{data}</script><script>{SCRIPT}</script>'
    )


def _row(point: Point, classes: tuple[str, ...], *, labelled: bool) -> tuple[str, ...]:
    """Return the tooltip of a word: context, class, gazetteer label, and nearest prototype."""
    label = point.label if labelled else ""
    return (point.before, point.word, point.after, classes[point.class_number], label, point.prototype)


def _cards(cards: Iterable[PrototypeCard]) -> str:
    shown = []
    for card in cards:
        nearest = "".join(
            f"<li><small>{escape(n.before)}</small><b>{escape(n.word)}</b><small>{escape(n.after)}</small></li>"
            for n in card.nearest
        )
        labelled = f", {card.labelled:,} of them labelled with its type" if card.class_number else ""
        count = f"Nearest prototype of {card.words:,} words{labelled}" if card.words else "Not the nearest of any word"
        shown.append(f'<div class="proto"><h3>{escape(card.name)}</h3><p>{count}</p><ul>{nearest}</ul></div>')
    about = "<p>Each prototype with its most similar words. A word form is shown once.</p>"
    return f'{about}<div class="protos">{"".join(shown)}</div>'


def _left_out(reassignment: Reassignment, classes: tuple[str, ...]) -> str:
    row = "human label" if reassignment.human_labelled else "class that the model predicts"
    rows = []
    for name, counts in zip(classes, reassignment.counts.tolist(), strict=True):
        total = sum(counts)
        cells = [_heat(count, total) for count in counts]
        rows.append([escape(name), *cells, f"{total:,}"])
    about = (
        f"<p>Words labelled O may be entities that the gazetteer does not have. Each row is the {row} of such words, each "
        "column the class that denoising assigns them to, in percent of the row. Words under O are learnt as O. Training "
        "leaves out the others.</p>"
    )
    return about + markup.table(("", *classes, "words"), rows, range(1, len(classes) + 2))


def _heat(count: int, total: int) -> str:
    share = 100 * count / total if total else 0.0
    colour = f"color-mix(in srgb, var(--t0) {share * 0.6:.0f}%, transparent)"
    return f'<span style="display:block;padding:0 .3rem;background:{colour}">{share:.1f}</span>'


def _disagreements(report: Report, findings: Findings) -> str:
    colours = dict(list(markup.colour_of(report.classes).items())[1:])  # the colours of the map, without O
    for item in findings.disagreements:  # types that the model does not have
        for span in item.expected:
            colours.setdefault(span.label, "")
    about = (
        "Texts where the model differs most from the human labels."
        if findings.human_labelled
        else "Texts where the model misses what the gazetteer labels. Either may be wrong."
    )
    items = "".join(
        f"<li>{_side('human' if item.human_labelled else 'gazetteer', item.text, item.expected, colours)}"
        f"{_side('model', item.text, item.predicted, colours)}</li>"
        for item in findings.disagreements
    )
    return f"<p>{about}</p>{markup.legend(colours)}<ol>{items}</ol>" if items else f"<p>{about} There are none.</p>"


def _side(source: str, text: str, spans: Iterable[Span], colours: dict[str, str]) -> str:
    """Return a text with the spans of one side."""
    shown = markup.marked(text, spans, colours, named=True)
    return f'<span class="side"><span class="tag">{source}</span>{shown}</span>'


def _terms(findings: Findings) -> str:
    rows = [
        [
            f'<span class="term">{escape(term.surface)}</span>',
            escape(term.type),
            f"{term.count:,}",
            f"{term.score:.2f}",
            f"<small>{escape(term.before)}</small><b>{escape(term.match)}</b><small>{escape(term.after)}</small>",
        ]
        for term in findings.missing_terms[:MOST_TERMS]
    ]
    if not rows:
        return "<p>There are none.</p>"
    count = len(findings.missing_terms)
    cut = f" The first {MOST_TERMS} of {count:,} are shown." if count > MOST_TERMS else ""
    missing = " that are not in the gazetteer" if findings.has_gazetteer else ""
    about = f"<p>Terms found by the model{missing}, ordered by frequency and score. Some of them are wrong.{cut}</p>"
    return about + markup.table(("term", "type", "mentions", "mean score", "example"), rows, (2, 3))
