"""Write a report on a training run: the work of `mproto report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.analysis.report import Report, report
from mproto.gazetteer.annotate import annotate
from mproto.gazetteer.options import MatchOptions
from mproto.html.report_page import report_page
from mproto.io.outputs import Outputs, check_apart
from mproto.recognizer import Recognizer
from mproto.text.formats import Options, read_documents
from mproto.training.folder import read_history, restore_state

if TYPE_CHECKING:
    from pathlib import Path

    from mproto.gazetteer.entries import Gazetteer
    from mproto.io.sources import Source


def report_run(
    folder: Path,
    output: Path,
    source: Source | None = None,
    *,
    gazetteer: Gazetteer | None = None,
    match_options: MatchOptions = MatchOptions(),
    human_labels: bool = False,
    read_format: str | None = None,
    options: Options = Options(),
    device: str = "auto",
    force: bool = False,
) -> Report:
    """Write an HTML report on a run, and on its model's predictions for a corpus.

    Args:
        folder: the folder of the run, or of a model.
        output: the HTML file.
        source: the corpus; without one, the report covers only the run.
        gazetteer: terms that label the corpus; the corpus's own labels then count as human labels.
            Without a gazetteer, its own labels count as distant labels.
        match_options: how to match the terms.
        human_labels: the corpus's own labels are human labels, with or without a gazetteer.
        read_format: the format of the corpus; detected from its content if not given.
        options: how to read the corpus.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        force: replace an existing file.
    """
    if source:
        check_apart(source, output)
    with Outputs(force=force) as outputs:
        file = outputs.open(output)
        recognizer = Recognizer.from_pretrained(folder, device=device)
        restore_state(recognizer, folder)
        documents = list(read_documents(source, read_format, options)) if source else []
        if source and not any(document.word_count for document in documents):
            raise source.error("contains no document with words", hint="name another corpus")
        if human_labels:
            documents = [d if d.gold is not None else d.with_spans((), d.spans) for d in documents]
        if gazetteer is not None:
            documents = list(annotate(documents, gazetteer, options=recognizer.matching(gazetteer, match_options)))
        known = gazetteer.surfaces if gazetteer else ()
        name = source.path.name if source else ""
        data = report(recognizer, read_history(folder), documents, corpus=name, known=known)
        file.write(report_page(data))
    return data
