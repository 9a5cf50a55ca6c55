"""`mproto export`: export a model."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import add_reading, options
from mproto.cli.console import notes_as_dict, print_json, print_notes, waiting
from mproto.errors import Notes

if TYPE_CHECKING:
    import argparse

    from mproto.integrations.comparison import Comparison

SUMMARY = "export a model for ONNX Runtime or transformers"
DESCRIPTION = """Export a model to a format that needs no torch (onnx), or no mproto
(transformers; only for models that are an encoder with a linear layer). The export is compared
with the model before it is put in place: every word must get the same label, or with --int8, 98 %
of the words (and with human labels in --corpus, the F1 may be at most one point lower)."""
EXAMPLE = "mproto export my-run my-onnx"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model, or the folder of a training run")
    parser.add_argument("output", metavar="OUT", type=Path, help="the folder to write")
    parser.add_argument("--format", choices=("onnx", "transformers"), default="onnx", help="default: onnx")
    parser.add_argument(
        "--int8",
        action="store_true",
        help="8-bit weights: a quarter of the size, and faster; 98 %% of the words must get the same label",
    )
    parser.add_argument(
        "--corpus", metavar="FILE", type=Path, help="documents to compare the two models on, preferably human-labelled"
    )
    parser.add_argument("--force", action="store_true", help="replace an older export")
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.integrations.comparison import LEAST_AGREEMENT
    from mproto.io.sources import Source
    from mproto.text.formats import read_documents
    from mproto.workflows.export import MOST_DOCUMENTS, export_model

    notes = Notes(parsed.on_error)
    documents = []
    if parsed.corpus:
        source = Source(parsed.corpus, notes)
        documents = list(islice(read_documents(source, parsed.read_format, options(parsed)), MOST_DOCUMENTS))
    with waiting("exporting"):
        parity = export_model(
            parsed.model, parsed.output, format=parsed.format, int8=parsed.int8, documents=documents, force=parsed.force
        )
    size = sum(path.stat().st_size for path in parsed.output.iterdir())
    if parsed.json:
        figures = {"output": str(parsed.output), "bytes": size, "agreement": parity.agreement, **parity._asdict()}
        print_json(figures | notes_as_dict(notes))
        return
    print_notes(notes)
    _show(parity, parsed.output, size, f"{LEAST_AGREEMENT:.0%}".replace("%", " %") if parsed.int8 else "all")


def _show(parity: Comparison, output: Path, size: int, required: str) -> None:
    sys.stdout.write(
        f"{parity.same:,} of {parity.words:,} words in {parity.documents:,} documents have the same label (required: "
        f"{required}); F1 of the export's entities against the original's: {100 * parity.f1:.2f}\n"
    )
    if parity.original is not None and parity.exported is not None:
        sys.stdout.write(
            f"F1 on human labels: {100 * parity.original:.2f} original, {100 * parity.exported:.2f} exported\n"
        )
    sys.stdout.write(f"output: {output}, {size / 1e6:.0f} MB\n")
