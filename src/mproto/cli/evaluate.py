"""`mproto evaluate`: score a model on labelled documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import (
    add_batch_size,
    add_bootstrap,
    add_combination,
    add_device,
    add_gazetteer,
    add_matching,
    add_reading,
    check_batch_size,
    check_bootstrap,
    combination,
    combined,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import progress
from mproto.cli.tables import show_scores
from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    import argparse

    from mproto.gazetteer import MatchOptions
    from mproto.inference.gazetteer_terms import Combination

SUMMARY = "precision, recall and F1 of a model on labelled documents"
DESCRIPTION = """Tag labelled documents with a model and score the result: strict micro scores
overall and for each label, scores of the boundaries alone (Loc.), and scores of the labels where
the boundaries match (Cls.), with 95 % bootstrap intervals.

With --gazetteer, the model, the gazetteer's terms or both are scored: by default, what training
recommended (--combine changes that; --combine off scores only the model). Entities in the
gazetteer and not in it are scored separately, too. --record writes the scores of the model alone
into its model card."""
EXAMPLE = "mproto evaluate my-run test.jsonl --gazetteer terms/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model, or the folder of a training run")
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="human-labelled documents")
    add_gazetteer(parser, "terms to use with the model; entities among them and others are also scored separately")
    add_combination(parser)
    add_matching(parser)
    add_bootstrap(parser)
    add_batch_size(parser)
    parser.add_argument(
        "--record",
        metavar="NAME",
        help="write the scores into the model card, as scores on a corpus of this name",
    )
    add_device(parser)
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.io.sources import Source

    check_bootstrap(parsed)
    check_batch_size(parsed)
    notes = Notes(parsed.on_error)
    way, matching = combination(parsed), match_options(parsed)
    _check_matching(way, None, matching)
    if parsed.record is not None:
        _check_record(parsed, way)
    gazetteer = load_gazetteer(parsed, notes) if parsed.gazetteer else None
    from mproto.recognizer import Recognizer
    from mproto.workflows.evaluate import evaluate_file

    recognizer = Recognizer.from_pretrained(parsed.model, device=parsed.device)
    recommended = recognizer.recommended_combination
    if gazetteer is not None:
        _check_matching(way, recommended, matching)
        recognizer = recognizer.with_gazetteer(gazetteer, way, matching, notes)
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
    show_scores(scores, notes, as_json=parsed.json, title=combined(parsed, recommended))


def _check_matching(way: Combination | None, recommended: Combination | None, matching: MatchOptions) -> None:
    """Check that matching options have an effect: that terms are matched."""
    from mproto.gazetteer import MatchOptions

    if (way or recommended) != "off" or matching == MatchOptions():
        return
    what = "does not match terms, so matching options have no effect"
    if way:
        raise InputError(f"--combine off {what}", hint="leave out --combine off, or the matching options")
    hint = "pass --combine prefer-gazetteer, too, or leave out the matching options"
    raise InputError(f"the model alone, which training recommended, {what}", hint=hint)


def _check_record(parsed: argparse.Namespace, way: Combination | None) -> None:
    """Check, before any work, that the scores can be recorded."""
    if not parsed.record.strip():
        raise InputError("--record has no name", hint='name the corpus, for example --record "letters of 2024"')
    if parsed.gazetteer and way != "off":
        raise InputError(
            "--record is for scores of the model alone, but --gazetteer is given", hint="pass --combine off, too"
        )
    if not Path(parsed.model).is_dir():
        raise InputError(
            f"--record writes into the folder of a model, and {parsed.model} is not a folder",
            hint="download the model with Recognizer.from_pretrained and save_pretrained, and name that folder",
        )
