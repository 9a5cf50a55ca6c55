"""`mproto predict`: find entities in documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import (
    add_batch_size,
    add_combination,
    add_device,
    add_gazetteer,
    add_matching,
    add_reading,
    add_writing,
    check_batch_size,
    combination,
    combined,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import counting, notes_as_dict, output_name, print_json, print_notes, progress, stdout
from mproto.errors import InputError, Notes
from mproto.io.control_characters import escape_controls

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from mproto.recognizer import Recognizer
    from mproto.text.document import Document

SUMMARY = "find entities in documents with a trained model"
DESCRIPTION = """Tag documents with a model and write them with the predicted entities. With
--gazetteer, the entities come from the model, the gazetteer's terms, or both: by default, from what
training recommended (--combine changes that).

The ending of the output's name selects its format. Without one, plain text becomes JSON Lines,
and documents in another format keep it. If the output can represent metadata, `scores` has the
score of each entity, in the order of the spans. Run the same command with --resume to continue
after an interruption."""
EXAMPLE = "mproto predict my-run new.txt --output found.jsonl"
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model, an exported model, or the folder of a training run")
    parser.add_argument(
        "input", metavar="INPUT", type=Path, help="a file (also .gz), a folder, or - for standard input"
    )
    parser.add_argument("--output", metavar="OUT", type=Path, help="a file (also .gz), or - for standard output")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write an HTML page with marked entities instead")
    parser.add_argument("--highlight", action="store_true", help="print the texts with marked entities instead")
    parser.add_argument("--resume", action="store_true", help="resume an interrupted run (--force starts again)")
    parser.add_argument(
        "--threshold",
        nargs="+",
        metavar="S|TYPE=S",
        default=[],
        help="minimum score, for all types or per type (Chemical=0.8)",
    )
    add_batch_size(parser)
    add_device(parser)
    add_gazetteer(parser, "terms to use together with the model")
    add_combination(parser)
    add_matching(parser)
    add_reading(parser)
    add_writing(parser)


def run(parsed: argparse.Namespace) -> None:
    ways = [name for name in ("output", "html", "highlight") if getattr(parsed, name)]
    if len(ways) != 1:
        given = " and ".join(f"--{name}" for name in ways) or "none of them is given"
        raise InputError(f"one of --output, --html and --highlight is needed: {given}", hint="choose one")
    check_batch_size(parsed)
    if parsed.resume and ways != ["output"]:
        raise InputError(f"--{ways[0]} cannot be resumed", hint="leave --resume out")
    prints = parsed.highlight or str(parsed.output) == "-"
    if parsed.json and prints:
        raise InputError("--json and the documents cannot both go to standard output", hint="name an output file")
    threshold = _threshold(parsed.threshold)
    way, matching = combination(parsed), match_options(parsed)
    from mproto.io.sources import Source
    from mproto.recognizer import Recognizer
    from mproto.workflows.predict import Reading, predict_documents, predict_file, predict_page

    notes = Notes(parsed.on_error)
    recognizer = Recognizer.from_pretrained(parsed.model, device=parsed.device)
    if parsed.gazetteer:
        recognizer = recognizer.with_gazetteer(load_gazetteer(parsed, notes), way, matching, notes)
    else:
        _note_recommendation(recognizer, notes)
    with (
        progress("tagging", parsed.input, prints=prints) as on_bytes,
        counting("tagging", parsed.input, prints=prints) as on_document,
    ):
        source = Source(parsed.input, notes, on_bytes)
        reading = Reading(parsed.read_format, options(parsed), parsed.batch_size, threshold, on_document)
        if parsed.highlight:
            _highlight(predict_documents(recognizer, source, reading), recognizer.labels)
            print_notes(notes)
            return
        if parsed.html:
            written = predict_page(recognizer, source, parsed.html, reading, force=parsed.force)
        else:
            written = predict_file(
                recognizer,
                source,
                parsed.output,
                reading,
                write_format=parsed.write_format,
                resume=parsed.resume,
                force=parsed.force,
            )
    output = parsed.output or parsed.html
    found_by = combined(parsed, recognizer.recommended_combination)
    if parsed.json:
        counts = {"documents": written.documents, "entities": written.spans}
        figures = {**counts, "found_by": found_by, "output": str(output)}
        print_json(figures | notes_as_dict(notes))
        return
    print_notes(notes)
    out = sys.stderr if str(output) == "-" else sys.stdout
    found = f"{written.documents:,} documents, {written.spans:,} entities"
    out.write(f"{found}, found by {found_by}\noutput: {output_name(output)}\n")


def _note_recommendation(recognizer: Recognizer, notes: Notes) -> None:
    """Note that training recommended the terms, which are not there."""
    better = {"terms": "than the term list alone", "prefer-gazetteer": "than together with its terms"}
    recommended = recognizer.recommended_combination
    if recommended in better:
        expected = f"this model alone is expected to be worse {better[recommended]}"
        notes.count(f"recommendation of training is not followed: {expected}; pass the terms with --gazetteer")


def _threshold(given: list[str]) -> float | dict[str, float] | None:
    """Read `0.5`, or any number of `TYPE=0.5`."""
    try:
        if len(given) == 1 and "=" not in given[0]:
            return float(given[0])
        scores = {type_: float(score) for type_, _, score in (value.rpartition("=") for value in given)}
        if "" in scores or len(scores) < len(given):
            raise ValueError
    except ValueError:
        hint = "give a number from 0 to 1 for all types, or TYPE=NUMBER once for each type"
        raise InputError(f"--threshold {' '.join(given)} is not a score", hint=hint) from None
    return scores or None


def _highlight(documents: Iterable[Document], labels: tuple[str, ...]) -> None:
    """Print texts with entities in brackets, with their types, and in colour on a terminal."""
    from rich.text import Text

    colours = {label: COLOURS[number % len(COLOURS)] for number, label in enumerate(labels)}
    console = stdout()
    for document in documents:
        safe, text, position = escape_controls(document.text), Text(), 0
        for start, end, label in document.spans:
            if start < position:
                continue
            text.append(safe[position:start])
            text.append(f"[{safe[start:end]} {escape_controls(label)}]", style=f"bold {colours.get(label, 'white')}")
            position = end
        text.append(safe[position:])
        console.print(text, soft_wrap=True)
