"""`mproto score`: precision, recall and F1 of one file against another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import add_gazetteer, add_reading, load_gazetteer, options
from mproto.cli.tables import show_scores
from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    import argparse

SUMMARY = "precision, recall and F1 of predicted spans"
DESCRIPTION = """Compare predicted spans with gold ones: strict, micro and per label, boundaries only (Loc.) and labels
where the boundaries match (Cls.), with 95 % bootstrap intervals.

Both files hold the same documents in the same order; their formats may differ. Where the gold file has human labels
beside distant ones, the human labels are the gold ones."""
EXAMPLE = "mproto score gold.jsonl predicted.jsonl --gazetteer terms/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", type=Path, help="documents with the right spans")
    parser.add_argument("predicted", metavar="PREDICTED", type=Path, help="the same documents with predicted spans")
    add_reading(parser)
    add_gazetteer(parser, "also score terms that are in it and terms that are not")
    parser.add_argument("--bootstrap", type=int, default=1000, metavar="N", help="resamples; 0 for no intervals")
    parser.add_argument("--seed", type=int, default=0, help="of the resampling")


def run(parsed: argparse.Namespace) -> None:
    from mproto.io.sources import Source
    from mproto.workflows.score import score_files

    if parsed.bootstrap < 0:
        raise InputError(f"--bootstrap {parsed.bootstrap} is negative", hint="give 0 or more")
    notes = Notes(parsed.on_error)
    scores = score_files(
        Source(parsed.gold, notes),
        Source(parsed.predicted, notes),
        format=parsed.read_format,
        options=options(parsed),
        terms=load_gazetteer(parsed).surfaces if parsed.gazetteer else None,
        bootstrap=parsed.bootstrap,
        seed=parsed.seed,
    )
    show_scores(scores, notes, as_json=parsed.json)
