"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.cli.console import notes_as_dict, print_json, print_notes, stdout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from mproto.errors import Notes
    from mproto.text.scoring import Counts, Scores


def score_table(scores: Scores, title: str | None = None) -> Table:
    """Return a table of all scores, in percent. It fits 80 columns."""
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


def comparison_table(systems: Mapping[str, Scores], title: str | None = None) -> Table:
    """Return a table that compares systems on all mentions, and on those in and not in the gazetteer."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    for column in ("", "", "precision", "recall", "F1", "95 % interval"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    parts = {"all": "overall", "in gazetteer": "seen", "not in gazetteer": "unseen"}
    for name, scores in systems.items():
        for part, key in parts.items():
            counts: Counts | None = getattr(scores, key)
            if counts is not None:
                interval = scores.intervals.get(key, {}).get("f1", ())
                measures = map(percent, (counts.precision, counts.recall, counts.f1))
                table.add_row(name if part == "all" else "", part, *measures, "–".join(map(percent, interval)))
    return table


def show_scores(scores: Scores, notes: Notes, *, as_json: bool, title: str | None = None) -> None:
    """Print scores as a table under a title, or as JSON.

    The JSON object has the title as `scored`.
    """
    if as_json:
        print_json(({"scored": title} if title else {}) | scores.as_dict() | notes_as_dict(notes))
        return
    print_notes(notes)
    stdout().print(score_table(scores, title))
