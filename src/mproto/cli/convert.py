"""`mproto convert`: convert documents between file formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import add_reading, add_writing, options
from mproto.cli.console import notes_as_dict, output_name, print_json, print_notes, progress
from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    import argparse

SUMMARY = "convert documents between file formats"
DESCRIPTION = """Convert documents between file formats (mproto formats lists them).

The input's format is detected from its content, the output's from its name; --from and --to set
them. Losses are counted and reported. The output is written as a whole or not at all."""
EXAMPLE = "mproto convert corpus.conll corpus.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", type=Path, help="a file (also .gz), a folder, or - for standard input")
    parser.add_argument(
        "output", metavar="OUT", type=Path, help="a file (also .gz), a folder, or - for standard output"
    )
    add_reading(parser)
    add_writing(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.io.sources import Source
    from mproto.workflows.convert import convert

    to_stdout = str(parsed.output) == "-"
    if parsed.json and to_stdout:
        raise InputError("--json and the documents cannot both go to standard output", hint="name an output file")
    notes = Notes(parsed.on_error)
    with progress("converting", parsed.input, prints=to_stdout) as on_bytes:
        done = convert(
            Source(parsed.input, notes, on_bytes),
            parsed.output,
            read_format=parsed.read_format,
            write_format=parsed.write_format,
            options=options(parsed),
            force=parsed.force,
        )
    if parsed.json:
        print_json(
            {
                "documents": done.documents,
                "spans": done.spans,
                "from": done.read_format,
                "to": done.write_format,
                "output": str(parsed.output),
                **notes_as_dict(notes),
            }
        )
        return
    print_notes(notes)
    summary = f"{done.documents:,} documents with {done.spans:,} spans, {done.read_format} to {done.write_format}"
    (sys.stderr if to_stdout else sys.stdout).write(f"{summary}: {output_name(parsed.output)}\n")
