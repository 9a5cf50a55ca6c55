"""Building blocks of self-contained HTML pages.

The pages load nothing from the network, have a light and a dark style, and fit small screens.
Functions that take text escape it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mproto.io.control_characters import escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COLOURS = 6
"""The number of colours for types. With more types, some share a colour."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --soft: #6b6b70; --line: #d8d8dc; --panel: #f5f5f7;
  --t0: #0b63b0; --t1: #b3400a; --t2: #176b3a; --t3: #7a2f8f; --t4: #7a5c00; --t5: #44546a }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf0; --paper: #17171a; --soft: #a0a0a8; --line: #38383d;
  --panel: #212125; --t0: #7cc0ff; --t1: #ffab7a; --t2: #7fdca0; --t3: #e0a6f2; --t4: #e8cd72; --t5: #b5c3d6 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1rem 0 .25rem }
p { margin: .25rem 0; color: var(--soft) } ol { padding-left: 1.5rem } li { margin: .6rem 0 }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0 }
.card { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; min-width: 8rem }
.card b { display: block; font-size: 1.4rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .92rem }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--soft); font-weight: 600; overflow-wrap: normal }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
td.n { white-space: nowrap } td:not(.n) { min-width: 7rem }
small, .why { color: var(--soft); font-size: .88rem } .term { font-weight: 600 }
mark { background: none; color: inherit; font-weight: 700; border-bottom: .18em solid var(--line) }
.t0 { border-color: var(--t0) } .t1 { border-color: var(--t1); border-bottom-style: double }
.t2 { border-color: var(--t2); border-bottom-style: dashed } .t3 { border-color: var(--t3); border-bottom-style: dotted }
.t4 { border-color: var(--t4) } .t5 { border-color: var(--t5); border-bottom-style: double }
mark sub { font-size: .68rem; font-weight: 400; color: var(--soft); margin-left: .15em }
.text { color: var(--ink); margin: .8rem 0; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9 }
.names { columns: 14rem; font-size: .92rem; padding-left: 1.2rem } .names li { margin: 0; break-inside: avoid }
"""


def page(title: str, body: str, style: str = "") -> str:
    """Return a complete page."""
    return page_start(title, style) + body + page_end()


def page_start(title: str, style: str = "") -> str:
    """Return the start of a page, before its body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{STYLE}{style}</style></head><body><h1>{escape(title)}</h1>"
    )


def page_end() -> str:
    """Return the end of a page, after its body."""
    return "</body></html>\n"


def cards(values: Iterable[tuple[str, str]]) -> str:
    """Return key figures, each a value and its name."""
    shown = (f'<div class="card"><b>{escape(value)}</b>{escape(name)}</div>' for value, name in values)
    return f'<div class="cards">{"".join(shown)}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = ()) -> str:
    """Return a table.

    Args:
        header: the names of the columns, as text.
        rows: the cells of each row, as HTML.
        numeric: the indices of the columns with numbers.
    """
    numeric_columns = set(numeric)

    def cells(values: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{' class=n' * (i in numeric_columns)}>{value}</{tag}>" for i, value in enumerate(values))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{cells([*map(escape, header)], "th")}</tr>{body}</table></div>'


def colour_of(types: Sequence[str]) -> dict[str, str]:
    """Return a CSS class for each type: a colour, and a line style for colour-blind readers."""
    return {type_: f"t{number % COLOURS}" for number, type_ in enumerate(types)}


def marked(text: str, spans: Iterable[tuple[int, int, str]], colours: Mapping[str, str], *, named: bool = False) -> str:
    """Return a text as HTML with its spans marked.

    Of overlapping spans, only the first is marked; of those with the same start, only the longest.

    Args:
        text: the text.
        spans: start, end and label of each span.
        colours: the CSS class of each label.
        named: whether to show the labels.
    """
    text = escape_controls(text)
    html, position = "", 0
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < position:
            continue
        inside = escape(text[start:end]) + (f"<sub>{escape(label)}</sub>" if named else "")
        html += escape(text[position:start])
        html += f'<mark class="{colours[label]}" title="{escape(label)}">{inside}</mark>'
        position = end
    return html + escape(text[position:])


def legend(colours: Mapping[str, str]) -> str:
    """Return a legend of the marks."""
    marks = (f'<mark class="{colour}">{escape(label)}</mark>' for label, colour in colours.items())
    return f"<p>{' '.join(marks)}</p>"
