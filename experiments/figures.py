"""Draw figures as self-contained SVG files, in light and dark."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from experiments.cells import RESULTS
from mproto.analysis.curves import Curve
from mproto.html import charts
from mproto.html.markup import COLOURS, STYLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIGURES = RESULTS.parent / "figures"
KEY_HEIGHT, KEYS_A_ROW = 18, 4
PANEL_HEIGHT = (charts.HEIGHT + 44) / 2


def save_lines(name: str, series: Mapping[str, Sequence[tuple[float, float]]], unit: str = "") -> str:
    """Draw curves with a key above them, and return the Markdown for it. `unit`: of the x axis."""
    curves = [Curve(title, tuple(points)) for title, points in series.items() if points]
    keys, above = _line_keys([curve.name for curve in curves])
    inside = f'{keys}<g transform="translate(0 {above})">{_inside(charts.line_chart(curves, unit))}</g>'
    return _save(name, inside, charts.WIDTH, charts.HEIGHT + above)


def save_panels(name: str, panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> str:
    """Draw a small chart for each title, two in a row. All have the same lines, with one key above."""
    keys, above = _line_keys(list(next(iter(panels.values()))))
    drawn = []
    for number, (title, series) in enumerate(panels.items()):
        chart = _inside(charts.line_chart([Curve(line, tuple(points)) for line, points in series.items()]))
        x, y = charts.WIDTH * (number % 2) / 2, above + PANEL_HEIGHT * (number // 2)
        drawn.append(f'<g class="panel" transform="translate({x} {y + 17}) scale(.5)">{chart}</g>')
        drawn.append(f'<text class="on" x="{x + charts.LEFT / 2}" y="{y + 13}">{escape(title)}</text>')
    return _save(name, keys + "".join(drawn), charts.WIDTH, above + PANEL_HEIGHT * -(-len(panels) // 2))


def save_map(
    name: str,
    classes: Sequence[str],
    points: Sequence[tuple[float, float, int]],
    prototypes: Sequence[tuple[float, float, int, str]],
) -> str:
    """Draw a map of words and prototypes, each with its class; O is left out as in the paper."""
    keys = "".join(
        f'<path class="f{n % COLOURS}" transform="translate({14 + 120 * n} 10)" d="{charts.SHAPES[charts.shape_number(n)]}"/>'
        f'<text x="{24 + 120 * n}" y="14">{escape(title)}</text>'
        for n, title in enumerate(classes)
        if n
    )
    drawn = charts.scatter([point for point in points if point[2]], [one for one in prototypes if one[2]])
    inside = f'{keys}<g transform="translate(0 {KEY_HEIGHT})">{_inside(drawn)}</g>'
    return _save(name, inside, 640, 640 + KEY_HEIGHT)


def save_heat(name: str, rows: Sequence[str], columns: Sequence[str], shares: Sequence[Sequence[float]]) -> str:
    """Draw a table of shares from 0 to 1. Greater shares are darker."""
    side, left, top = 74, 90, 24
    cells = [
        f'<text x="{left + side * (j + 0.5)}" y="16" text-anchor="middle">{escape(c)}</text>'
        for j, c in enumerate(columns)
    ]
    for i, (title, line) in enumerate(zip(rows, shares, strict=True)):
        y = top + side * 0.5 * i
        cells.append(f'<text x="{left - 8}" y="{y + side * 0.3}" text-anchor="end">{escape(title)}</text>')
        for j, share in enumerate(line):
            x = left + side * j
            box = f'x="{x}" y="{y}" width="{side - 3}" height="{side * 0.5 - 3}"'
            cells.append(
                f'<rect class="f0" {box} opacity="{0.06 + 0.7 * share:.2f}"/>'
                f'<text class="on" x="{x + side * 0.48}" y="{y + side * 0.3}" text-anchor="middle">{100 * share:.1f}</text>'
            )
    return _save(name, "".join(cells), left + side * len(columns) + 8, int(top + side * 0.5 * len(rows)) + 8)


def _line_keys(names: Sequence[str]) -> tuple[str, int]:
    """Draw the key of the lines, and return it with its height."""
    keys = [
        f'<path class="curve {charts.line_class(n)}" d="M{x} {y}h26"/><text x="{x + 32}" y="{y + 4}">{escape(name)}</text>'
        for n, name in enumerate(names)
        for x, y in [(8 + 155 * (n % KEYS_A_ROW), 9 + KEY_HEIGHT * (n // KEYS_A_ROW))]
    ]
    return "".join(keys), KEY_HEIGHT * -(-len(names) // KEYS_A_ROW)


def _inside(drawn: str) -> str:
    found = re.search(r"<svg[^>]*>(.*)</svg>\s*$", drawn, re.DOTALL)
    assert found
    return found[1].rpartition("<svg")[2].partition(">")[2] if "<svg" in found[1] else found[1]


def _save(name: str, inside: str, width: float, height: float) -> str:
    variables = "".join(
        re.findall(r":root \{.*?\}|@media \(prefers-color-scheme: dark\) \{.*?\} \}", STYLE, re.DOTALL)[:2]
    )
    own = "svg { background: var(--paper) } .on { fill: var(--ink) } .panel text { font-size: 18px }"
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
        f"<style>{variables}{charts.STYLE} {own}</style>"
        f'<rect width="{width}" height="{height}" fill="var(--paper)"/>{inside}</svg>\n'
    )
    FIGURES.mkdir(exist_ok=True)
    (FIGURES / f"{name}.svg").write_text(text)
    return link(name)


def link(name: str) -> str:
    """Return the Markdown that shows a figure."""
    return f"![{name}](figures/{name}.svg)"
