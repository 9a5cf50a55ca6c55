"""`mproto demo`: the bundled corpus, and how far dictionary lookup gets on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.cli.console import print_json, stdout
from mproto.cli.tables import score_table

if TYPE_CHECKING:
    import argparse

    from mproto.text import Document

SUMMARY = "see the bundled corpus and what dictionary lookup finds in it"
DESCRIPTION = """Load the bundled corpus (sentences about medicines and illnesses, and a gazetteer with gaps), show what is
in it, and score plain dictionary lookup on the labelled test sentences."""
EXAMPLE = "mproto demo"

SHOWN = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None but those of every command."""


def run(parsed: argparse.Namespace) -> None:
    from mproto import demo
    from mproto.gazetteer import annotate
    from mproto.text import score

    gazetteer = demo.gazetteer()
    test = demo.documents("test")
    found = list(annotate(test, gazetteer))
    scores = score(zip(test, found, strict=True), terms=gazetteer.surfaces, bootstrap=1000)
    if parsed.json:
        splits = {split: _statistics(demo.documents(split)) for split in ("train", "dev", "test")}
        lookup = {"lookup": scores.as_dict()}
        print_json({"folder": str(demo.FOLDER), "splits": splits, "gazetteer": gazetteer.sizes, **lookup})
        return
    _show_corpus()
    stdout().print(score_table(scores, "Dictionary lookup on the test sentences"))
    _show_sentences(test, found)
    stdout().print(f"\nThe files are in {demo.FOLDER}", soft_wrap=True)


def _statistics(documents: tuple[Document, ...]) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for document in documents:
        for span in document.spans:
            counts[span.label] = counts.get(span.label, 0) + 1
    return {"sentences": len(documents), "words": sum(len(d.words) for d in documents), "spans": counts}


def _show_corpus() -> None:
    from rich import box
    from rich.table import Table

    from mproto import demo

    table = Table(
        title="The bundled corpus", title_justify="left", box=box.SIMPLE, pad_edge=False, collapse_padding=True
    )
    for column in ("", "sentences", "words", *demo.gazetteer().types):
        table.add_column(column, justify="left" if not column else "right")
    for split in ("train", "dev", "test"):
        statistics = _statistics(demo.documents(split))
        labels = [f"{statistics['spans'].get(type_, '–')}" for type_ in demo.gazetteer().types]
        table.add_row(split, f"{statistics['sentences']:,}", f"{statistics['words']:,}", *labels)
    table.add_row("gazetteer (terms)", "", "", *(str(size) for size in demo.gazetteer().sizes.values()))
    stdout().print(table)


def _show_sentences(gold: tuple[Document, ...], found: list[Document]) -> None:
    """A few sentences in which lookup finds some mentions and misses others."""
    from rich.text import Text

    colours = {"Chemical": "cyan", "Disease": "magenta"}
    console = stdout()
    console.print(
        "Found by lookup: [bold cyan]Chemical[/], [bold magenta]Disease[/]; [underline]missed[/]", style="dim"
    )
    mixed = [pair for pair in zip(gold, found, strict=True) if 0 < len(set(pair[0].spans) & set(pair[1].spans)) < 3]
    for right, guess in [pair for pair in mixed if len(pair[0].spans) >= 3][:SHOWN]:
        text = Text(right.text)
        for span in right.spans:
            style = f"bold {colours[span.label]}" if span in guess.spans else "underline"
            text.stylize(style, span.start, span.end)
        console.print(Text("  ") + text, soft_wrap=True)
