"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from mproto.text.scoring import Counts, Scores


def score_table(scores: Scores, title: str | None = None) -> Table:
    """Every part of the scores, in percent; fits 80 columns."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    table.add_column("", no_wrap=True)
    for column in ("precision", "recall", "F1", "95 % interval", "predicted", "gold"):
        table.add_column(column, justify="right", no_wrap=True)

    def add(name: str, counts: Counts, interval_of: str = "") -> None:
        between = ""
        if interval_of in scores.intervals:
            between = "–".join(percent(edge) for edge in scores.intervals[interval_of]["f1"])
        measures = (counts.precision, counts.recall, counts.f1)
        table.add_row(name, *map(percent, measures), between, f"{counts.predicted:,}", f"{counts.gold:,}")

    add("all", scores.overall, "overall")
    for label, counts in scores.types.items():
        add(f"  {escape(label)}", counts)
    table.add_row("  mean of labels", *map(percent, scores.macro))
    add("boundaries (Loc.)", scores.loc, "loc")
    add("labels (Cls.)", scores.cls, "cls")
    if scores.seen is not None and scores.unseen is not None:
        add("in gazetteer", scores.seen)
        add("not in gazetteer", scores.unseen)
    return table


def percent(share: float) -> str:
    return f"{100 * share:.2f}"
