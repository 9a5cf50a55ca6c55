"""Figures as small SVG files that stand on their own, in light and dark."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from experiments.cells import RESULTS
from mproto.analysis import charts
from mproto.analysis.curves import Curve
from mproto.pages import COLOURS, STYLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.cells import Cell

FIGURES = RESULTS.parent / "figures"
KEY_HEIGHT, KEYS_A_ROW = 18, 4


def save_lines(name: str, series: Mapping[str, Sequence[tuple[float, float]]], unit: str = "") -> str:
    """Curves over steps, or something in a unit, with the key above them; the Markdown that shows the file."""
    curves = [Curve(title, tuple(points)) for title, points in series.items() if points]
    drawn = charts.line_chart(curves, unit)
    keys = [
        f'<path class="curve {charts.line_class(n)}" d="M{x} {y}h26"/>'
        f'<text x="{x + 32}" y="{y + 4}">{escape(curve.name)}</text>'
        for n, curve in enumerate(curves)
        for x, y in [(8 + 155 * (n % KEYS_A_ROW), 9 + KEY_HEIGHT * (n // KEYS_A_ROW))]
    ]
    above = KEY_HEIGHT * -(-len(curves) // KEYS_A_ROW)
    inside = f'{"".join(keys)}<g transform="translate(0 {above})">{_inside(drawn)}</g>'
    return _save(name, inside, charts.WIDTH, charts.HEIGHT + above)


def save_map(name: str, found: Cell, *, without_other: bool = True) -> str:
    """A map of words and prototypes; the paper leaves the many words of O out."""
    points = [(x, y, kind) for x, y, kind in found["points"] if kind or not without_other]
    large = [(x, y, kind, title) for x, y, kind, title in found["prototypes"] if kind or not without_other]
    keys = "".join(
        f'<path class="f{n % COLOURS}" transform="translate({14 + 120 * n} 10)" d="{charts.SHAPES[charts.shape_number(n)]}"/>'
        f'<text x="{24 + 120 * n}" y="14">{escape(title)}</text>'
        for n, title in enumerate(found["classes"])
        if n or not without_other
    )
    inside = f'{keys}<g transform="translate(0 {KEY_HEIGHT})">{_inside(charts.scatter(points, large))}</g>'
    return _save(name, inside, 640, 640 + KEY_HEIGHT)


def save_heat(name: str, rows: Sequence[str], columns: Sequence[str], shares: Sequence[Sequence[float]]) -> str:
    """A table of shares from 0 to 1, the darker the greater."""
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


def _inside(drawn: str) -> str:
    found = re.search(r"<svg[^>]*>(.*)</svg>\s*$", drawn, re.DOTALL)
    assert found
    return found[1].rpartition("<svg")[2].partition(">")[2] if "<svg" in found[1] else found[1]


def _save(name: str, inside: str, width: int, height: int) -> str:
    variables = "".join(
        re.findall(r":root \{.*?\}|@media \(prefers-color-scheme: dark\) \{.*?\} \}", STYLE, re.DOTALL)[:2]
    )
    style = f"{variables}{charts.STYLE} svg {{ background: var(--paper) }} .on {{ fill: var(--ink) }}"
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
        f'<style>{style}</style><rect width="{width}" height="{height}" fill="var(--paper)"/>{inside}</svg>\n'
    )
    FIGURES.mkdir(exist_ok=True)
    (FIGURES / f"{name}.svg").write_text(text)
    return f"![{name}](figures/{name}.svg)"
