"""`mproto report`: write an HTML report on a training run and its model."""

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

SUMMARY = "write an HTML report on a training run: curves, prototypes, scores, missing terms"
DESCRIPTION = """Write a self-contained HTML report on a training run: its learning curves and,
with a corpus, the coverage of the gazetteer, scores (if the corpus has human labels), a map of
words, a card for every prototype, what denoising does with words labelled O, the texts to read
first, and terms missing from the gazetteer. mproto train writes such a report on its training data
into the folder of the run.

With --gazetteer, the corpus is labelled with its terms, and the corpus's own labels count as
human labels. Without it, the corpus's labels count as distant labels; --human says that they are
human labels."""
EXAMPLE = "mproto report my-run --corpus test.jsonl --gazetteer terms/ --output report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="the folder of a training run, or a model")
    parser.add_argument("--corpus", metavar="FILE", type=Path, help="documents to analyse")
    parser.add_argument("--human", action="store_true", help="the labels of the corpus are human labels")
    parser.add_argument("--output", required=True, metavar="FILE", type=Path, help="the HTML file to write")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    add_device(parser)
    add_gazetteer(parser, "terms that label the corpus")
    add_matching(parser)
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    if not parsed.corpus and (parsed.gazetteer or parsed.human):
        raise InputError("--gazetteer and --human need a corpus", hint="pass --corpus")
    notes = Notes(parsed.on_error)
    gazetteer = load_gazetteer(parsed, notes) if parsed.gazetteer else None
    from mproto.io.sources import Source
    from mproto.workflows.report import report_run

    with waiting("analysing the run"):
        report = report_run(
            parsed.run_folder,
            parsed.output,
            Source(parsed.corpus, notes) if parsed.corpus else None,
            gazetteer=gazetteer,
            match_options=match_options(parsed),
            human_labels=parsed.human,
            read_format=parsed.read_format,
            options=options(parsed),
            device=parsed.device,
            force=parsed.force,
        )
    if parsed.json:
        print_json(_as_dict(report) | {"output": str(parsed.output)} | notes_as_dict(notes))
        return
    print_notes(notes)
    if report.findings:
        sample = f"{report.findings.documents:,} documents, {report.findings.words:,} words"
        kind = "missing from the gazetteer" if report.findings.has_gazetteer else "found by the model"
        sys.stdout.write(f"{sample}; {len(report.findings.missing_terms):,} terms {kind} are listed\n")
    sys.stdout.write(f"report: {parsed.output}\n")


def _as_dict(report: Report) -> dict[str, Any]:
    figures: dict[str, Any] = {"facts": dict(report.facts), "charts": list(report.curves)}
    if report.findings is None:
        return figures
    findings = report.findings
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
