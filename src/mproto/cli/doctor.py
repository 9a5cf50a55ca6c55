"""`mproto doctor`: check a gazetteer against a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import (
    add_gazetteer,
    add_lookup,
    add_matching,
    add_reading,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import notes_as_dict, print_json, print_notes, progress, stdout
from mproto.cli.tables import percent
from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from mproto.gazetteer.doctor import EntryHealth, Health, Sentence

SUMMARY = "check a gazetteer against a corpus, and list the terms to review"
DESCRIPTION = """Find a gazetteer's terms in a corpus and report on them: hits, terms that are
never found, ambiguous terms and common words with context, near-duplicates, terms found only
inside longer terms, the coverage of each type, and the ten sentences to review first. If the
corpus is labelled: the precision of every term, too."""
EXAMPLE = "mproto doctor corpus.txt --gazetteer terms/ --html report.html"

SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "corpus", metavar="CORPUS", type=Path, help="a file (also .gz), a folder, or - for standard input"
    )
    add_gazetteer(parser, "a folder of TYPE.txt, a file, or TYPE=FILE for each type", required=True)
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the full report as a self-contained HTML page")
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    add_lookup(parser)
    add_matching(parser, several=True)
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.gazetteer.doctor import examine
    from mproto.html.doctor_page import page
    from mproto.io.outputs import Outputs
    from mproto.io.sources import Source
    from mproto.text import read_documents

    if parsed.matching == "paper":
        raise InputError("doctor supports the default matching only", hint="leave --matching out")
    notes = Notes(parsed.on_error)
    chosen = match_options(parsed)
    gazetteer = load_gazetteer(parsed, notes)
    with Outputs(force=parsed.force) as outputs:
        file = outputs.open(parsed.html) if parsed.html else None
        with progress("examining", parsed.corpus) as on_bytes:
            source = Source(parsed.corpus, notes, on_bytes)
            health = examine(read_documents(source, parsed.read_format, options(parsed)), gazetteer, chosen)
        if not health.documents:
            raise source.error("contains no document", hint="check the file")
        if file:
            file.write(page(health).encode("utf-8", "replace"))
    if parsed.json:
        print_json(health.as_dict() | notes_as_dict(notes))
        return
    print_notes(notes)
    _show(stdout(), health)
    if parsed.html:
        stdout().print(f"full report: {parsed.html}", soft_wrap=True)


def _show(console: Console, health: Health) -> None:
    console.print(
        f"{health.documents:,} documents, {health.words:,} words; terms in {health.covered:,} documents "
        f"({percent(health.covered / health.documents)} %)"
    )
    if not health.found:
        console.print("[bold]No term was found.[/] Check that this is the right gazetteer for the corpus.")
    if health.scores:
        measures = (health.scores.precision, health.scores.recall, health.scores.f1)
        console.print("Against the gold spans: precision {}, recall {}, F1 {}".format(*map(percent, measures)))
    console.print(_types_table(health))
    if health.names:
        names = ", ".join(health.names)
        console.print(f"Types matched as names (capitals count): {names}", markup=False)
    gold = health.scores is not None
    _list(console, "Found terms, most hits first", health.found, gold=gold)
    _list(console, "Ambiguous terms", health.ambiguous, gold=gold, contexts=True)
    _list(
        console,
        "Common words, and capitalised terms found mostly in lower case",
        health.common,
        gold=gold,
        contexts=True,
    )
    if gold:
        often = sorted((h for h in health.found if h.hits > 1), key=lambda h: (h.precision, -h.hits))
        _list(console, "Lowest precision (terms found more than once)", often, gold=True, contexts=True)
    _names(console, "Found only inside longer terms", [f"{h.surface} ({times})" for h, times in health.inside])
    _names(console, "Never found", [health.surface for health in health.dead])
    _names(console, "Listed more than once", [f"{e.surface} ({times})" for e, times in health.duplicates])
    _names(console, "Near-duplicates", [" = ".join(group) for group in health.near_duplicates])
    _names(console, "Longer than any document", [entry.surface for entry in health.too_long])
    _sentences(console, health.sentences)


def _types_table(health: Health) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    for column in ("type", "entries", "found", "hits", "documents"):
        table.add_column(column, justify="left" if column == "type" else "right")
    for c in health.types:
        table.add_row(escape(c.type), *(f"{value:,}" for value in (c.entries, c.used, c.hits, c.documents)))
    return table


def _list(console: Console, title: str, entries: Sequence[EntryHealth], *, gold: bool, contexts: bool = False) -> None:
    from rich.text import Text

    if not entries:
        return
    console.print(f"[bold]{title}[/] ({len(entries):,})")
    for health in entries[:SHOWN]:
        precision = f", {percent(health.precision)} % precision" if gold else ""
        line = Text(f"  {health.surface}", style="bold")
        line.append(f"  {' / '.join(health.types)}, {health.hits:,} hits{precision}", style="not bold dim")
        console.print(line)
        for before, match, after in health.contexts[:1] if contexts else ():
            words = Text(f"      {before}".replace("\n", " "))
            words.append(match, style="underline")
            words.append(after.replace("\n", " "))
            console.print(words, no_wrap=True, overflow="ellipsis")
    _more(console, len(entries))


def _names(console: Console, title: str, names: list[str]) -> None:
    from rich.text import Text

    if names:
        console.print(f"[bold]{title}[/] ({len(names):,})")
        console.print(Text(f"  {', '.join(names[:SHOWN])}"))
        _more(console, len(names))


def _more(console: Console, count: int) -> None:
    if count > SHOWN:
        console.print(f"  … and {count - SHOWN:,} more (--html or --json has them all)", style="dim")


def _sentences(console: Console, sentences: Sequence[Sentence]) -> None:
    from rich.text import Text

    if not sentences:
        return
    console.print("[bold]Review these first[/]")
    for sentence in sentences:
        text = Text(sentence.text)
        for span in sentence.spans:
            text.stylize("bold underline", span.start, span.end)
        console.print(Text("  ") + text)
        console.print(Text(f"      {sentence.why}"), style="dim")
