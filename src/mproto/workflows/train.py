"""Train on files: the work of `mproto train`."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mproto.analysis.report import report
from mproto.denoising.estimate import MIN_LABELLED
from mproto.errors import DataError, InputError, Notes
from mproto.gazetteer.annotate import annotate
from mproto.gazetteer.options import MatchOptions
from mproto.html.report_page import report_page
from mproto.io.outputs import Outputs
from mproto.text.formats import Options, read_documents
from mproto.training import train
from mproto.training.board import Board
from mproto.training.folder import BOARD, REPORT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mproto.config import Config
    from mproto.gazetteer.entries import Gazetteer
    from mproto.io.sources import Source
    from mproto.text.document import Document
    from mproto.training import TrainingResult
    from mproto.training.loop import Progress

QUICK = 20_000
"""The maximum number of words in the sample for the report at the end of training."""


@dataclass(frozen=True)
class TrainingSummary:
    """A training run on files.

    Attributes:
        result: the recogniser and the history of its training.
        documents: the number of training documents.
        labels: the number of labelled spans of each type in them.
        name_types: entity types whose terms were matched as names.
        report: the HTML report on the run, if one was written.
    """

    result: TrainingResult
    documents: int
    labels: dict[str, int]
    name_types: tuple[str, ...]
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
    on_step: Callable[[Progress], object] = id,
    on_warning: Callable[[str], object] = id,
) -> TrainingSummary:
    """Train on the labels of a file or, with a gazetteer, on the labels that its terms give.

    See `mproto.train`.

    Args:
        source: documents for distant labels; `None` if all documents are human-labelled.
        output: the folder of the run.
        config: all settings.
        labelled: human-labelled documents to train on.
        dev: human-labelled documents that select the best checkpoint.
        gazetteer: terms that label the documents of `source`.
        match_options: how to match the terms.
        read_format: the format of all files; detected from their content if not given.
        options: how to read the files.
        force: replace an older run in the folder.
        resume: resume the run in the folder.
        tensorboard: write curves for TensorBoard.
        report: write an HTML report on the run into its folder. It uses the documents without human
            labels, if any.
        on_step: called with a `Progress` after every step.
        on_warning: called before training with each reason why there may be too little to learn from.

    Raises:
        InputError: the input or the call is wrong.
        Interrupted: the user stopped the run.
        MprotoError: training failed.
    """
    first = source or labelled
    if first is None:
        raise InputError("there is nothing to train on", hint="name a training file or a human-labelled file")
    documents = list(read_documents(source, read_format, options)) if source else []
    human = [document.with_gold() for document in read_documents(labelled, read_format, options)] if labelled else []
    if labelled and not any(document.spans for document in human):
        raise labelled.error("contains no labelled entity", hint="name a human-labelled file")
    card: dict[str, Any] = {}
    name_types: set[str] = set()
    if gazetteer is not None:
        documents = list(annotate(documents, gazetteer, options=match_options, on_names=name_types.update))
        sizes = ", ".join(f"{count:,} {type_}" for type_, count in gazetteer.sizes.items())
        if not any(document.spans for document in documents) and not human:
            what = f"none of the terms of the gazetteer ({len(gazetteer):,}) occurs in its {len(documents):,} documents"
            raise first.error(what, hint="check that the gazetteer is the right one, and how its terms are matched")
        card["gazetteer"] = f"{sizes} (fingerprint {gazetteer.fingerprint[:16]})"
    _warn(documents, human, on_warning)
    board = Board(output / BOARD) if tensorboard else None

    def follow(progress: Progress) -> None:
        on_step(progress)
        if board:
            board(progress)

    try:
        result = train(
            documents,
            labelled=human,
            dev=None if dev is None else read_documents(dev, read_format, options),
            config=config,
            output=output,
            force=force,
            resume=resume,
            progress=False,
            on_step=follow,
            name_types=None if gazetteer is None else name_types,
            card=card,
            notes=first.notes,
        )
    except DataError as error:
        if source and labelled:  # the document may be in either of the two files
            raise
        raise error.at(first.path) from None
    finally:
        if board:
            board.close()
    used = [*documents, *human]
    sample = documents or [document.with_spans((), document.spans) for document in human]
    return TrainingSummary(
        result,
        len(used),
        dict(Counter(span.label for document in used for span in document.spans)),
        tuple(sorted(name_types)),
        _write_report(result, output, sample, gazetteer, first.notes) if report else None,
    )


def _warn(documents: Sequence[Document], human: Sequence[Document], on_warning: Callable[[str], object]) -> None:
    """Warn of types that have too few labels to learn from, with the numbers that decide it."""
    terms: dict[str, list[str]] = {}
    for document in (*documents, *human):
        for start, end, label in document.spans:
            terms.setdefault(label, []).append(document.text[start:end].casefold())
    for label, mentions in sorted(terms.items()):
        if len(mentions) < MIN_LABELLED:
            on_warning(
                f"{label}: the training documents have only {len(mentions)} labelled mentions ({len(set(mentions))} "
                f"different terms). With fewer than {MIN_LABELLED}, a model may learn nothing about this type; more terms "
                "or more text help"
            )


def _write_report(
    result: TrainingResult, output: Path, documents: list[Document], gazetteer: Gazetteer | None, notes: Notes
) -> Path | None:
    """Write the report on a run that has just ended, unless there is one already."""
    path = output / REPORT
    if path.exists() or result.recognizer.model.group.rank > 0:
        return path
    known = gazetteer.surfaces if gazetteer else ()
    try:
        data = report(
            result.recognizer,
            list(result.history),
            documents,
            corpus="the training data",
            known=known,
            most_words=QUICK,
        )
        with Outputs() as outputs:
            outputs.open(path).write(report_page(data))
    except (Exception, KeyboardInterrupt) as error:  # the model is saved, and a failed report must not hide that
        if os.environ.get("MPROTO_DEBUG"):
            raise
        reason = str(error) or type(error).__name__
        notes.count(f"report could not be written ({reason}); write one with mproto report")
        return None
    return path
