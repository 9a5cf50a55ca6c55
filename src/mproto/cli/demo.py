"""`mproto demo`: train a recogniser on the bundled corpus, from terms and text."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto.cli.console import print_json, stdout
from mproto.cli.tables import comparison_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from mproto.text import Document, Span
    from mproto.text.scoring import Scores

SUMMARY = "label, train, compare and tag on the bundled corpus"
DESCRIPTION = """Label the bundled corpus (sentences about medicines and illnesses) with its
incomplete gazetteer, train a recogniser on these labels in a few minutes, compare it with
dictionary lookup on human-labelled sentences, and tag three new sentences."""
EXAMPLE = "mproto demo"

OUTPUT = Path("mproto-demo")
EPOCHS = 5
"""Shorter than by default, so that the demo takes about four minutes on two cores."""
NEW = (
    "Her rheumatologist swapped methotrexate for tofacitinib when the psoriasis spread to her scalp.",
    "Nausea and a dry mouth are what most people notice in the first week on venlafaxine.",
    "He was told to stop the ibuprofen, because it can make heart failure and kidney trouble worse.",
)
COLOURS = {"Chemical": "cyan", "Disease": "magenta"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, metavar="DIR", help=f"a folder for the model (default: {OUTPUT})"
    )
    parser.add_argument(
        "--no-training", action="store_true", help="show only the corpus and the scores of dictionary lookup"
    )


def run(parsed: argparse.Namespace) -> None:
    from mproto import demo
    from mproto.gazetteer import annotate
    from mproto.text import score

    gazetteer = demo.gazetteer()
    test = demo.documents("test")

    def scores_of(predicted: Sequence[Document]) -> Scores:
        return score(zip(test, predicted, strict=True), terms=gazetteer.surfaces, bootstrap=1000)

    scores = {"dictionary lookup": scores_of(list(annotate(test, gazetteer)))}
    splits = {split: _statistics(demo.documents(split)) for split in ("train", "dev", "test")}
    figures: dict[str, Any] = {"folder": str(demo.FOLDER), "splits": splits, "gazetteer": gazetteer.sizes}
    if not parsed.json:
        _show_corpus(splits, gazetteer.sizes)
    tagged: list[tuple[str, list[Span]]] = []
    if not parsed.no_training:
        start = time.perf_counter()
        scores["mproto"], tagged = _train(parsed.output, scores_of)
        figures |= {"seconds": time.perf_counter() - start, "model": str(parsed.output)}
    if parsed.json:
        print_json(figures | {"scores": {name: counts.as_dict() for name, counts in scores.items()}})
        return
    console = stdout()
    console.print(comparison_table(scores, f"On the {len(test)} test sentences"))
    if tagged:
        _show_tagged(tagged)
        console.print(
            f"\nTrained in {figures['seconds']:.0f} s, for less time than mproto train would take. "
            f"The model is in {parsed.output}. Try it:",
            soft_wrap=True,
        )
        console.print(f"  mproto predict {parsed.output} YOUR.txt --output found.jsonl", soft_wrap=True)
        if (parsed.output / "report.html").exists():
            console.print(f"Report on the run: {parsed.output / 'report.html'}", soft_wrap=True)
    console.print(f"The corpus and its gazetteer are in {demo.FOLDER}", soft_wrap=True)


def _train(
    output: Path, scores_of: Callable[[Sequence[Document]], Scores]
) -> tuple[Scores, list[tuple[str, list[Span]]]]:
    from mproto import demo
    from mproto.config import load_config
    from mproto.io.sources import Source
    from mproto.text import Document
    from mproto.training.progress_bar import training_progress
    from mproto.workflows.train import train_files

    with training_progress(lines=True) as on_step, _restarts():
        recognizer = train_files(
            Source(demo.FOLDER / demo.FILES["train"]),
            output,
            load_config(settings=[f"training.epochs={EPOCHS}"]),
            gazetteer=demo.gazetteer(),
            force=True,
            on_step=on_step,
        ).result.recognizer
    scores = scores_of(list(recognizer.predict(demo.documents("test"))))
    tagged = recognizer.predict(map(Document, NEW))
    return scores, [(document.text, list(document.spans)) for document in tagged]


@contextmanager
def _restarts() -> Iterator[None]:
    """Replace the message of an interruption: the demo cannot be resumed."""
    from mproto.training.interrupt import Interrupted

    try:
        yield
    except Interrupted:
        raise Interrupted("stopped; the next mproto demo starts from the beginning") from None


def _statistics(documents: tuple[Document, ...]) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for document in documents:
        for span in document.spans:
            counts[span.label] = counts.get(span.label, 0) + 1
    return {"sentences": len(documents), "words": sum(d.word_count for d in documents), "spans": counts}


def _show_corpus(splits: dict[str, dict[str, Any]], sizes: dict[str, int]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(
        title="The bundled corpus", title_justify="left", box=box.SIMPLE, pad_edge=False, collapse_padding=True
    )
    for column in ("", "sentences", "words", *sizes):
        table.add_column(column, justify="left" if not column else "right")
    for split, statistics in splits.items():
        labels = [f"{statistics['spans'].get(type_, '–')}" for type_ in sizes]
        table.add_row(split, f"{statistics['sentences']:,}", f"{statistics['words']:,}", *labels)
    table.add_row("gazetteer (terms)", "", "", *map(str, sizes.values()))
    stdout().print(table)


def _show_tagged(tagged: list[tuple[str, list[Span]]]) -> None:
    from rich.text import Text

    console = stdout()
    console.print("New sentences: " + ", ".join(f"[bold {colour}]{name}[/]" for name, colour in COLOURS.items()))
    for sentence, spans in tagged:
        text = Text(sentence)
        for span in spans:
            text.stylize(f"bold {COLOURS[span.label]}", span.start, span.end)
        console.print(Text("  ") + text, soft_wrap=True)
