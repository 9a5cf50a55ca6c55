"""SVG charts.

Series differ in dashes or shapes as well as in colour; the colours are those of the page.
"""

from __future__ import annotations

from html import escape
from itertools import count
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from mproto.html.markup import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mproto.analysis.curves import Curve

WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 10, 26
DASHES = ("", "7 4", "2 3", "10 3 2 3", "4 2", "1 2")
SHAPES = (
    "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",  # circle
    "M-3 -3h6v6h-6z",  # square
    "M0 -4L4 3H-4z",  # triangle
    "M0 -4L4 0L0 4L-4 0z",  # diamond
    "M-4 -1h3v-3h2v3h3v2h-3v3h-2v-3h-3z",  # cross
    "M0 4L4 -3H-4z",  # triangle upside down
)


def line_class(number: int) -> str:
    """Return the CSS classes of a line: one of 36 combinations of colour and dashes."""
    return f"c{number % COLOURS} d{(number + number // COLOURS) % COLOURS}"


def shape_number(number: int) -> int:
    """Return the shape of a series. Together with its colour, it is one of 36 combinations."""
    return (number + number // COLOURS) % COLOURS


STYLE = "".join(
    f".c{n} {{ stroke: var(--t{n}) }} .d{n} {{ stroke-dasharray: {DASHES[n] or 'none'} }} .f{n} {{ fill: var(--t{n}) }} "
    for n in range(COLOURS)
) + (
    "svg { max-width: 100%; height: auto; display: block } svg text { fill: var(--soft); font: 11px system-ui, sans-serif } "
    ".big path { stroke: var(--paper); stroke-width: .8 } .big text { fill: var(--ink); font-weight: 700; "
    "paint-order: stroke; stroke: var(--paper); stroke-width: 3px } "
    ".axis { stroke: var(--line); fill: none } .curve { fill: none; stroke-width: 2 } "
    ".keys { display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .88rem } .keys svg { display: inline-block } "
    ".charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem }"
)


def line_chart(curves: Sequence[Curve], unit: str = "") -> str:
    """Return a line chart.

    Args:
        curves: curves over integers, for example the steps of a run. Each has at least one point.
        unit: the unit of the x axis.
    """
    xs = [x for curve in curves for x, _ in curve.points]
    ys = [y for curve in curves for _, y in curve.points]
    marks = ticks(min(ys), max(ys))
    low, high = min(marks[0], *ys), max(marks[-1], *ys)
    last = max(*xs, min(xs) + 1)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - min(xs)) / (last - min(xs))
        up = (y - low) / ((high - low) or 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    lines = []
    for mark in marks:
        _, y = place(min(xs), mark)
        lines.append(f'<path class="axis" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{mark:g}</text>')
    for mark in ticks(min(xs), last):
        if min(xs) <= mark <= last and mark == int(mark):
            x, _ = place(mark, low)
            lines.append(f'<path class="axis" d="M{x:.1f} {HEIGHT - BOTTOM}v4"/>')
            lines.append(
                f'<text class="across" x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{mark:.0f}{unit}</text>'
            )
    for number, curve in enumerate(curves):
        path = "L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in curve.points)
        if len(curve.points) == 1:
            path += "h.1"  # a dot
        lines.append(f'<path class="curve {line_class(number)}" stroke-linecap="round" d="M{path}"/>')
    drawn = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(lines)}</svg>'
    return (line_legend(curve.name for curve in curves) if len(curves) > 1 else "") + drawn


def line_legend(names: Iterable[str]) -> str:
    """Return the legend of a line chart."""
    marks = (
        f'<svg width="34" height="10"><path class="curve {line_class(number)}" d="M1 5H33"/></svg>'
        for number in count()
    )
    return _legend(marks, names)


def shape_legend(names: Iterable[str]) -> str:
    """Return the legend of a scatter plot."""
    marks = (
        f'<svg width="12" height="12"><path class="f{number % COLOURS}" transform="translate(6 6)" '
        f'd="{SHAPES[shape_number(number)]}"/></svg>'
        for number in count()
    )
    return _legend(marks, names)


def _legend(marks: Iterable[str], names: Iterable[str]) -> str:
    keys = (f"<span>{mark} {escape(name)}</span>" for name, mark in zip(names, marks, strict=False))
    return f'<div class="keys">{"".join(keys)}</div>'


def scatter(points: Iterable[tuple[float, float, int]], large: Iterable[tuple[float, float, int, str]] = ()) -> str:
    """Return a scatter plot.

    Coordinates are from 0 to 1, and the attribute `data-i` is the index of a point.

    Args:
        points: x, y and the number of the series.
        large: large marks with a name: x, y, the number of the series, and the name.
    """
    size = 640

    def at(value: float) -> str:
        return f"{20 + value * (size - 40):.1f}"

    symbols = "".join(f'<path id="s{n}" d="{shape}"/>' for n, shape in enumerate(SHAPES))
    small = "".join(
        f'<use href="#s{shape_number(kind)}" class="f{kind % COLOURS}" x="{at(x)}" y="{at(1 - y)}" data-i="{i}"/>'
        for i, (x, y, kind) in enumerate(points)
    )
    big = "".join(
        f'<g class="big" transform="translate({at(x)} {at(1 - y)})"><path class="f{kind % COLOURS}" '
        f'd="{SHAPES[shape_number(kind)]}" transform="scale(2.6)"/>'
        f'<text x="{-10 if x > 0.8 else 10}" y="4" text-anchor="{"end" if x > 0.8 else "start"}">{escape(name)}</text></g>'
        for x, y, kind, name in large
    )
    return (
        f'<svg id="map" viewBox="0 0 {size} {size}" role="img"><defs>{symbols}</defs>'
        f'<g opacity=".75">{small}</g>{big}</svg>'
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return about `most` round numbers that enclose `low` and `high`, at even distances."""
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # also if rounding would hide the difference
        high = low + (abs(low) or 1)
    rough = (high - low) / most
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)
    first = floor(low / step + 1e-9)
    last = ceil(high / step - 1e-9)
    digits = max(0, -floor(log10(step)) + 1)
    return [round(number * step, digits) for number in range(first, last + 1)]
