"""`mproto annotate`: label documents with a gazetteer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto.cli.arguments import (
    add_gazetteer,
    add_lookup,
    add_matching,
    add_reading,
    add_writing,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import notes_as_dict, output_name, print_json, print_notes, progress
from mproto.cli.tables import percent
from mproto.errors import Notes

if TYPE_CHECKING:
    import argparse

    from mproto.workflows.annotate import Annotated

SUMMARY = "label documents with the terms of a gazetteer"
DESCRIPTION = """Find a gazetteer's terms in documents and write the documents with these labels.

Labels that the documents already have become gold labels, if the output format can represent
both, and the new labels are scored against them. The ending of the output's name selects its
format. Without one, plain text becomes JSON Lines, and documents in another format keep it."""
EXAMPLE = "mproto annotate corpus.txt --gazetteer terms/ --output labelled.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "corpus", metavar="CORPUS", type=Path, help="a file (also .gz), a folder, or - for standard input"
    )
    add_gazetteer(parser, "a folder of TYPE.txt, a file, or TYPE=FILE for each type", required=True)
    parser.add_argument(
        "--output", required=True, metavar="OUT", type=Path, help="a file (also .gz), or - for standard output"
    )
    add_lookup(parser)
    add_matching(parser, several=True)
    add_reading(parser)
    add_writing(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.gazetteer.cache import default_folder
    from mproto.io.sources import Source
    from mproto.workflows.annotate import annotate_file

    notes = Notes(parsed.on_error)
    gazetteer = load_gazetteer(parsed, notes)
    with progress("annotating", parsed.corpus, prints=str(parsed.output) == "-") as on_bytes:
        done = annotate_file(
            Source(parsed.corpus, notes, on_bytes),
            gazetteer,
            parsed.output,
            matching=parsed.matching,
            match_options=match_options(parsed),
            read_format=parsed.read_format,
            write_format=parsed.write_format,
            options=options(parsed),
            force=parsed.force,
            cache_folder=None if parsed.no_cache else default_folder(),
        )
    if parsed.json:
        print_json(_as_dict(done, parsed.output) | notes_as_dict(notes))
        return
    print_notes(notes)
    out = sys.stderr if str(parsed.output) == "-" else sys.stdout
    counts = ", ".join(f"{count:,} {label}" for label, count in sorted(done.labels.items())) or "no labels"
    out.write(f"{done.documents:,} documents, {done.words:,} words: {counts}\n")
    if done.name_types:
        out.write(f"types matched as names (capitals count): {', '.join(done.name_types)}\n")
    if done.scores:
        overall = done.scores.overall
        measures = (percent(value) for value in (overall.precision, overall.recall, overall.f1))
        out.write("against the gold spans: precision {}, recall {}, F1 {}\n".format(*measures))
    out.write(f"output: {output_name(parsed.output)}\n")


def _as_dict(done: Annotated, output: Path) -> dict[str, Any]:
    return {
        "documents": done.documents,
        "words": done.words,
        "labels": done.labels,
        "name_types": done.name_types,
        "from": done.read_format,
        "to": done.write_format,
        "output": str(output),
        "scores": done.scores.as_dict() if done.scores else None,
    }
