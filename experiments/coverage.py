"""The paper's curve of dictionary coverage: F1 with 20 to 100 % of the dictionary, for four systems.

    python -m experiments.coverage [--data bc5cdr] [--fractions 0.4] [--render]

Cells are those of `systems.py`; the main table has some of them already. Needs MPROTO_DATA.
"""

from __future__ import annotations

from experiments import systems
from experiments.arguments import arguments
from experiments.figures import save_lines
from experiments.page import write_section

ABOUT, MINUTES = "dictionary coverage, 20 … 100 %", 9
CORPORA, FRACTIONS = ("bc5cdr", "conll03"), ("0.2", "0.4", "0.6", "0.8", "1.0")
METHODS = {
    "mproto": "MProto",
    "negative-sampling": "negative sampling",
    "early-stopping": "early stopping",
    "dictionary": "dictionary match",
}
NOTE = """*The paper:* from the whole dictionary to a fifth of it, MProto loses 7 and 9 points, negative sampling 54 and 47,
early stopping 56 and 51. *Here:* MProto loses 11 and 12, negative sampling 49 and 57, early stopping 48 and 58. One seed;
MProto in bfloat16, the others' ends in float32."""


def cells() -> list[str]:
    return [systems.cell_name(m, f"{c}-{fraction}", 0) for m in METHODS for c in CORPORA for fraction in FRACTIONS]


def render() -> str:
    parts = [NOTE]
    for corpus in CORPORA:
        series: dict[str, list[tuple[float, float]]] = {}
        rows = []
        for method, title in METHODS.items():
            line = {f: systems.found(method, f"{corpus}-{f}") for f in FRACTIONS}
            points = {f: systems.overall(found)["f1"] for f, found in line.items() if found}
            series[title] = [(100 * float(fraction), f1) for fraction, f1 in points.items()]
            rows.append(f"| {title} | {' | '.join(f'{points[f]:.2f}' if f in points else '' for f in FRACTIONS)} |")
        header = f"| {corpus}, F1 | {' | '.join(f'{100 * float(f):.0f} %' for f in FRACTIONS)} |"
        if any(series.values()):
            parts.append(save_lines(f"coverage-{corpus}", series, " %"))
        parts.append("\n".join([header, "|---" * (len(FRACTIONS) + 1) + "|", *rows]))
    return "\n\n".join(parts)


def main() -> None:
    parsed = arguments(__doc__, data=CORPORA, fractions=FRACTIONS, methods=METHODS)
    if not parsed.render:
        for corpus in parsed.data:
            for fraction in parsed.fractions:
                for method in parsed.methods:
                    scores = systems.overall(systems.cell(method, f"{corpus}-{fraction}", 0))
                    print(method, corpus, fraction, scores, flush=True)
    write_section("Dictionary coverage", render())


if __name__ == "__main__":
    main()
