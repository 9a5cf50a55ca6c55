"""`mproto score`: score predicted spans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import (
    add_bootstrap,
    add_gazetteer,
    add_reading,
    check_bootstrap,
    load_gazetteer,
    options,
)
from mproto.cli.tables import show_scores
from mproto.errors import Notes

if TYPE_CHECKING:
    import argparse

SUMMARY = "precision, recall and F1 of predicted spans"
DESCRIPTION = """Compare predicted spans with gold spans: strict micro scores overall and for
each label, scores of the boundaries alone (Loc.), and scores of the labels where the boundaries
match (Cls.), with 95 % bootstrap intervals.

Both files must contain the same documents in the same order; their formats may differ. If
documents of the gold file have human and distant labels, the human labels count."""
EXAMPLE = "mproto score gold.jsonl predicted.jsonl --gazetteer terms/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", type=Path, help="documents with gold spans")
    parser.add_argument("predicted", metavar="PREDICTED", type=Path, help="the same documents with predicted spans")
    add_reading(parser)
    add_gazetteer(parser, "also score entities that are in it and entities that are not")
    add_bootstrap(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.io.sources import Source
    from mproto.workflows.score import score_files

    check_bootstrap(parsed)
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
