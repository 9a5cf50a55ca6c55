"""From a run to a page about it: what the command `report` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.analysis.report import Report, report
from mproto.gazetteer.annotate import annotate
from mproto.gazetteer.options import MatchOptions
from mproto.html.report_page import report_page
from mproto.io.outputs import Outputs, check_apart
from mproto.recognizer import Recognizer
from mproto.text.formats import Options
from mproto.training.folder import read_history
from mproto.workflows.train import _read

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
    by_people: bool = False,
    read_format: str | None = None,
    options: Options = Options(),
    device: str = "auto",
    force: bool = False,
) -> Report:
    """Write a page about a run, and about what its model makes of a corpus.

    Args:
        folder: of the run, or of a model.
        output: the page.
        source: the corpus; without, the page tells of the run alone.
        gazetteer: labels the corpus; its own labels are then people's. Without, they are taken for the dictionary's.
        match_options: how it does so.
        by_people: they are people's all the same.
        read_format: of the corpus; told by content without.
        options: how to read it.
        device: for the model.
        force: whether an existing page may be replaced.
    """
    if source:
        check_apart(source, output)
    with Outputs(force=force) as outputs:
        file = outputs.open(output)
        recognizer = Recognizer.from_pretrained(folder).to(device)
        documents = list(_read(source, read_format, options)) if source else []
        if source and not any(document.word_count for document in documents):
            raise source.error("holds no document with words", hint="name another corpus")
        if by_people:
            documents = [d if d.gold is not None else d.with_spans((), d.spans) for d in documents]
        if gazetteer is not None:
            documents = list(annotate(documents, gazetteer, options=recognizer.matching(gazetteer, match_options)))
        known = gazetteer.surfaces if gazetteer else ()
        name = source.path.name if source else ""
        found = report(recognizer, read_history(folder), documents, corpus=name, known=known)
        file.write(report_page(found))
    return found
