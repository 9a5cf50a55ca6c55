"""From files to files: what the commands `train` and `report` do."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mproto.analysis.report import report
from mproto.errors import DataError, InputError, Notes
from mproto.gazetteer.annotate import annotate
from mproto.gazetteer.options import MatchOptions
from mproto.html.report_page import report_page
from mproto.io.outputs import Outputs
from mproto.persistence.card import NAMES
from mproto.text.formats import Options, detect, get_format
from mproto.training import train
from mproto.training.board import Board
from mproto.training.folder import BOARD, REPORT, read_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mproto.config import Config
    from mproto.gazetteer.entries import Gazetteer
    from mproto.io.sources import Source
    from mproto.recognizer import Recognizer
    from mproto.text.document import Document
    from mproto.training.loop import Progress

QUICK = 20_000
"""Words that the report at the end of training looks at."""


@dataclass(frozen=True)
class Trained:
    """What came out of a training run.

    Attributes:
        recognizer: the model.
        documents: how many it learnt from.
        labels: how many labels of each type they have.
        names: types of the gazetteer that were taken for names.
        steps: how many were done.
        best_step: the one whose model was kept; the last, where weights are not chosen by a score.
        score: that it was chosen by, where it was.
        dev_f1: the same, where it is the strict F1 on the development data.
        unlabelled: the estimated share of words labelled O that are entities, where it was estimated.
        kept: the mean share of O words that took part in the last tenth of training, where the model says.
        report: the page about the run, where one was written.
    """

    recognizer: Recognizer
    documents: int
    labels: dict[str, int]
    names: tuple[str, ...]
    steps: int
    best_step: int
    score: float | None
    dev_f1: float | None
    unlabelled: float | None
    kept: float | None
    report: Path | None


def train_files(
    source: Source | None,
    output: Path,
    config: Config,
    *,
    labelled: Source | None = None,
    dev: Source | None = None,
    gazetteer: Gazetteer | None = None,
    match_options: MatchOptions = MatchOptions(),
    read_format: str | None = None,
    options: Options = Options(),
    force: bool = False,
    resume: bool = False,
    tensorboard: bool = False,
    report: bool = True,
    on_progress: Callable[[Progress], object] = id,
) -> Trained:
    """Train on a file: on its own labels, or, with a gazetteer, on those that its terms give. See `mproto.train`.

    With `report`, a page about the run is written into its folder, on the documents without human labels, if there are any.

    Args:
        source: documents for distant labels; none, where people labelled everything.
        output: the folder of the run.
        config: all settings.
        labelled: documents that people labelled.
        dev: documents that pick the best checkpoint.
        gazetteer: labels the documents of `source`.
        match_options: how it does so.
        read_format: of all files; told by content without.
        options: how to read them.
        force: whether an older run may be replaced.
        resume: go on with the run that is there.
        tensorboard: whether to write curves for it.
        report: whether to write a page.
        on_progress: called after every step.

    Raises:
        InputError: the input, or the call, is wrong.
        Interrupted: somebody stopped it.
        MprotoError: training failed.
    """
    first = source or labelled
    if first is None:
        raise InputError("there is nothing to train on", hint="name a training file, or one that people labelled")
    documents = list(_read(source, read_format, options)) if source else []
    by_people = [document.with_gold() for document in _read(labelled, read_format, options)] if labelled else []
    if labelled and not any(document.spans for document in by_people):
        raise labelled.error("holds no labelled entity", hint="name a file that people labelled")
    card: dict[str, Any] = {}
    names: set[str] = set()
    if gazetteer is not None:
        documents = list(annotate(documents, gazetteer, options=match_options, on_names=names.update))
        card[NAMES] = sorted(names)
        sizes = ", ".join(f"{count:,} {type_}" for type_, count in gazetteer.sizes.items())
        card["gazetteer"] = f"{sizes} (fingerprint {gazetteer.fingerprint[:16]})"
    board = Board(output / BOARD) if tensorboard else None

    def follow(progress: Progress) -> None:
        on_progress(progress)
        if board:
            board(progress)

    try:
        recognizer = train(
            documents,
            labelled=by_people,
            dev=None if dev is None else _read(dev, read_format, options),
            config=config,
            output=output,
            force=force,
            resume=resume,
            on_progress=follow,
            card=card,
            notes=first.notes,
        )
    except DataError as error:
        if source and labelled:  # the document says which it is in
            raise
        raise error.at(first.path) from None
    finally:
        if board:
            board.close()
    history = read_history(output)
    best = [progress for progress in history if progress.best][-1]
    kept = [progress.logs["kept"] for progress in history if "kept" in progress.logs]
    last = kept[-max(1, len(kept) // 10) :]
    learnt = [document.spans for document in [*documents, *by_people]]
    shown = documents or [document.with_spans((), document.spans) for document in by_people]
    return Trained(
        recognizer,
        len(learnt),
        dict(Counter(span.label for spans in learnt for span in spans)),
        tuple(sorted(names)),
        len(history),
        best.step,
        best.score,
        best.score if config.training.selection in ("auto", "gold") else None,
        next((progress.logs["unlabelled"] for progress in history if "unlabelled" in progress.logs), None),
        sum(last) / len(last) if last else None,
        _write_report(recognizer, output, shown, gazetteer, first.notes) if report else None,
    )


def _write_report(
    recognizer: Recognizer, output: Path, documents: list[Document], gazetteer: Gazetteer | None, notes: Notes
) -> Path | None:
    """A page about a run that has just ended; one that is there already stays."""
    path = output / REPORT
    if path.exists() or recognizer.model.group.rank > 0:
        return path
    known = gazetteer.surfaces if gazetteer else ()
    try:
        found = report(
            recognizer, read_history(output), documents, corpus="the training data", known=known, most_words=QUICK
        )
        with Outputs() as outputs:
            outputs.open(path).write(report_page(found))
    except (Exception, KeyboardInterrupt) as error:  # the model is there, whatever happens to the page about it
        if os.environ.get("MPROTO_DEBUG"):
            raise
        notes.count(f"report could not be written ({str(error) or type(error).__name__}); mproto report can make one")
        return None
    return path


def _read(source: Source, format: str | None, options: Options) -> Iterator[Document]:
    return (get_format(format) if format else detect(source)).read(source, options)
