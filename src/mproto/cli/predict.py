"""`mproto predict`: entities in new documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import add_device, add_reading, add_writing, options
from mproto.cli.console import notes_as_dict, print_json, print_notes, progress
from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    import argparse

SUMMARY = "find entities in documents with a trained model"
DESCRIPTION = """Tag documents with a model and write them with the entities that it finds. Plain text becomes JSON Lines;
other formats stay what they are unless the output's name says more. Where the output can hold it, `scores` has the score of
each entity, in the order of the spans."""
EXAMPLE = "mproto predict my-run new.txt --output found.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="a model, or the folder of a training run")
    parser.add_argument(
        "input", metavar="INPUT", type=Path, help="a file (also .gz), a folder, or - for standard input"
    )
    parser.add_argument(
        "--output", required=True, metavar="OUT", type=Path, help="a file (also .gz), or - for standard output"
    )
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="sentences at once")
    add_device(parser)
    add_reading(parser)
    add_writing(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.inputs import Source

    if parsed.batch_size < 1:
        raise InputError(f"--batch-size {parsed.batch_size} is not a number of sentences", hint="give 1 or more")
    notes = Notes(parsed.on_error)
    from mproto.jobs import predict_file
    from mproto.recognizer import Recognizer

    recognizer = Recognizer.from_pretrained(parsed.model).to(parsed.device)
    with progress("tagging", parsed.input) as on_bytes:
        written = predict_file(
            recognizer,
            Source(parsed.input, notes, on_bytes),
            parsed.output,
            read_format=parsed.read_format,
            write_format=parsed.write_format,
            options=options(parsed),
            batch_size=parsed.batch_size,
            force=parsed.force,
        )
    if parsed.json:
        figures = {"documents": written.documents, "entities": written.spans, "output": str(parsed.output)}
        print_json(figures | notes_as_dict(notes))
        return
    print_notes(notes)
    shown = sys.stderr if str(parsed.output) == "-" else sys.stdout
    shown.write(f"{written.documents:,} documents, {written.spans:,} entities\nwritten to {parsed.output}\n")
