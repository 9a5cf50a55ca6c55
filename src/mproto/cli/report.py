"""`mproto report`: a page about a training run and its model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto.cli.arguments import (
    add_device,
    add_gazetteer,
    add_matching,
    add_reading,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import notes_as_dict, print_json, print_notes, waiting
from mproto.errors import InputError, Notes

if TYPE_CHECKING:
    import argparse

    from mproto.analysis.report import Report

SUMMARY = "a page about a training run: curves, prototypes, scores, missing terms"
DESCRIPTION = """Write one self-contained HTML page about a training run: learning curves and, with a corpus, what the
dictionary covers, scores where people labelled it, a map of words, a card for every prototype, where transport sends
words without a label, the sentences to read first, and the terms that the dictionary lacks. `mproto train` writes such a
page about its training data into the folder of the run.

With --gazetteer, the labels of the corpus are taken for people's, and the terms label it anew; without, its labels are
taken for the dictionary's, unless --human says otherwise."""
EXAMPLE = "mproto report my-run --corpus test.jsonl --gazetteer terms/ --output report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="the folder of a training run, or a model")
    parser.add_argument("--corpus", metavar="FILE", type=Path, help="documents to look at")
    parser.add_argument("--human", action="store_true", help="the labels of the corpus are people's")
    parser.add_argument("--output", required=True, metavar="FILE", type=Path, help="the page")
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    add_device(parser)
    add_gazetteer(parser, "terms that label the corpus")
    add_matching(parser)
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    if not parsed.corpus and (parsed.gazetteer or parsed.human):
        raise InputError("--gazetteer and --human are about a corpus, and there is none", hint="pass --corpus")
    notes = Notes(parsed.on_error)
    gazetteer = load_gazetteer(parsed, notes) if parsed.gazetteer else None
    from mproto.io.sources import Source
    from mproto.workflows.report import report_run

    with waiting("looking into the run"):
        found = report_run(
            parsed.run_folder,
            parsed.output,
            Source(parsed.corpus, notes) if parsed.corpus else None,
            gazetteer=gazetteer,
            match_options=match_options(parsed),
            by_people=parsed.human,
            read_format=parsed.read_format,
            options=options(parsed),
            device=parsed.device,
            force=parsed.force,
        )
    if parsed.json:
        print_json(_as_dict(found) | {"output": str(parsed.output)} | notes_as_dict(notes))
        return
    print_notes(notes)
    if found.findings:
        looked = f"{found.findings.documents:,} documents with {found.findings.words:,} words"
        sys.stdout.write(
            f"{looked}; {len(found.findings.missing_terms):,} terms that the dictionary lacks are shown" + "\n"
        )
    sys.stdout.write(f"the report is in {parsed.output}" + "\n")


def _as_dict(found: Report) -> dict[str, Any]:
    figures: dict[str, Any] = {"facts": dict(found.facts), "charts": list(found.curves)}
    if found.findings is None:
        return figures
    findings = found.findings
    return figures | {
        "documents": findings.documents,
        "words": findings.words,
        "coverage": [line._asdict() for line in findings.coverage],
        "scores": findings.scores.as_dict() if findings.scores else None,
        "prototypes": {card.name: card.words for card in findings.cards},
        "terms": [
            {"term": t.surface, "type": t.type, "count": t.count, "score": t.score} for t in findings.missing_terms
        ],
    }
