"""`mproto evaluate`: precision, recall and F1 of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import (
    add_combination,
    add_device,
    add_gazetteer,
    add_matching,
    add_reading,
    combination,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import progress
from mproto.cli.tables import show_scores
from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    import argparse

SUMMARY = "precision, recall and F1 of a model on labelled documents"
DESCRIPTION = """Tag labelled documents with a model and compare: strict, micro and per label, boundaries only (Loc.) and
labels where the boundaries match (Cls.), with 95 % bootstrap intervals. With --gazetteer, also for terms that are in it and
for terms that are not; with --combine, of model and terms together. With --record, the model card says so from then on."""
EXAMPLE = "mproto evaluate my-run test.jsonl --gazetteer terms/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model, or the folder of a training run")
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="documents with the right spans")
    add_gazetteer(parser, "also score terms that are in it and terms that are not")
    add_combination(parser, "off")
    add_matching(parser)
    parser.add_argument("--bootstrap", type=int, default=1000, metavar="N", help="resamples; 0 for no intervals")
    parser.add_argument("--batch-size", type=int, default=64, metavar="N", help="sentences at once")
    parser.add_argument("--seed", type=int, default=0, help="of the resampling")
    parser.add_argument(
        "--record",
        metavar="NAME",
        help="write the scores into the card of the model, as those on a corpus of this name",
    )
    add_device(parser)
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.gazetteer import MatchOptions
    from mproto.io.sources import Source

    if parsed.bootstrap < 0 or parsed.batch_size < 1:
        raise InputError("--bootstrap must be 0 or more, and --batch-size 1 or more", hint="correct the call")
    notes = Notes(parsed.on_error)
    way, matching = combination(parsed), match_options(parsed)
    if way == "off" and matching != MatchOptions():
        raise InputError("terms are not matched in this text without --combine", hint="say --combine prefer-gazetteer")
    if parsed.record is not None:
        _check_record(parsed, way)
    gazetteer = load_gazetteer(parsed, notes) if parsed.gazetteer else None
    from mproto.recognizer import Recognizer
    from mproto.workflows.evaluate import evaluate_file

    recognizer = Recognizer.from_pretrained(parsed.model).to(parsed.device)
    if gazetteer is not None and way != "off":
        recognizer = recognizer.with_gazetteer(gazetteer, way, matching)
    with progress("evaluating", parsed.corpus) as on_bytes:
        scores = evaluate_file(
            recognizer,
            Source(parsed.corpus, notes, on_bytes),
            terms=gazetteer.surfaces if gazetteer else None,
            read_format=parsed.read_format,
            options=options(parsed),
            batch_size=parsed.batch_size,
            bootstrap=parsed.bootstrap,
            seed=parsed.seed,
        )
    if parsed.record is not None:
        recognizer.record_scores(parsed.model, parsed.record, scores.overall)
    show_scores(scores, notes, as_json=parsed.json)


def _check_record(parsed: argparse.Namespace, way: str) -> None:
    """See to it, before any work, that scores can be recorded."""
    if not parsed.record.strip():
        raise InputError("--record has no name", hint='name the corpus, such as --record "letters of 2024"')
    if way != "off":
        raise InputError(
            "--record is for the model alone, and --combine puts terms beside it", hint="leave out one of them"
        )
    if not Path(parsed.model).is_dir():
        raise InputError(
            f"--record writes into the folder of a model, and {parsed.model} is none here",
            hint="fetch it with Recognizer.from_pretrained and save_pretrained, and name that folder",
        )
