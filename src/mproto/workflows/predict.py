"""Find entities in files: the work of `mproto predict`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from mproto.errors import InputError
from mproto.html.markup import colour_of, legend, marked, page_end, page_start
from mproto.inference.texts import check_length
from mproto.inference.thresholds import thresholds
from mproto.io.outputs import STDOUT, Outputs, check_apart
from mproto.io.resumable import Records, ResumableLog
from mproto.text.document import Document, Span
from mproto.text.formats import Options, find_format, format_for_labels, write_documents
from mproto.text.formats.registry import Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mproto.inference.thresholds import Threshold
    from mproto.io.sources import Source
    from mproto.recognizer import Recognizer
    from mproto.text.formats.base import Format


class Reading(NamedTuple):
    """Options for reading and tagging documents.

    Attributes:
        format: the format of the documents; detected from their content if not given.
        options: how to read them.
        batch_size: the number of windows in a batch.
        threshold: the lowest score of an entity, for all types or for each type.
        on_document: called after each document.
    """

    format: str | None = None
    options: Options = Options()
    batch_size: int = 64
    threshold: Threshold = None
    on_document: Callable[[], object] | None = None


def predict_file(
    recognizer: Recognizer,
    source: Source,
    output: Path,
    reading: Reading = Reading(),
    *,
    write_format: str | None = None,
    resume: bool = False,
    force: bool = False,
) -> Written:
    """Write a file's documents with predicted entities, as a whole or not at all.

    Plain text becomes JSON Lines.

    Results are saved as they are found, in a hidden file next to the output, so that an interrupted
    run can be resumed.

    Args:
        recognizer: the model.
        source: the documents.
        output: a file, a folder for formats that need one, or `-` for standard output.
        reading: how to read and tag the documents.
        write_format: the format of the output; chosen by its name if not given.
        resume: resume an interrupted run, if there is one.
        force: replace an existing output, and the results of an interrupted run.

    Raises:
        InputError: the input or the call is wrong.
    """
    reader = _reader(recognizer, source, reading)
    writer = format_for_labels(output, reader, write_format)
    check_apart(source, output, is_folder=writer.is_folder)
    documents = _documents(reader, source, reading)
    is_kept = str(output) != STDOUT and output.parent.is_dir() and (force or not output.exists())
    try:
        about = _about(recognizer, reading)
        with ResumableLog(output, about, PREDICTIONS, resume=resume, force=force) if is_kept else nullcontext() as log:
            if log:
                predicted = log.run(documents, lambda rest: _predicted(recognizer, rest, reading))
            else:
                predicted = _predicted(recognizer, documents, reading)
            predicted = _counted(predicted, reading)
            return write_documents(predicted, output, writer, reading.options, force=force, notes=source.notes)
    except InputError as error:
        raise error.at(source.shown) from None


def _from_record(document: Document, record: Any) -> Document:
    spans, scores = record
    labelled = document.with_spans([Span(*span) for span in spans], document.gold)
    return labelled.with_meta({**document.meta, "scores": scores})


PREDICTIONS = Records[Document](
    "document",
    content=lambda document: document.text,
    to_record=lambda document: [document.spans, document.meta["scores"]],
    from_record=_from_record,
)
"""The format of predictions in the log of an interrupted run: the spans and their scores."""


def _about(recognizer: Recognizer, reading: Reading) -> str:
    """Identify everything that the result depends on, except the documents."""
    terms = recognizer.terms
    combined = (
        None
        if terms is None or terms.combination == "off"
        else (terms.combination, terms.fingerprint, terms.options.key)
    )
    return repr((recognizer.fingerprint, reading.threshold, combined))


def predict_page(
    recognizer: Recognizer, source: Source, output: Path, reading: Reading = Reading(), *, force: bool = False
) -> Written:
    """Write an HTML page that shows a file's documents with their entities marked."""
    check_apart(source, output)
    colours = colour_of(recognizer.labels)
    documents = spans = 0
    with Outputs(force=force) as outputs:
        file = outputs.open(output)
        file.write((page_start(f"Entities in {source.path.name}") + legend(colours)).encode())
        for document in predict_documents(recognizer, source, reading):
            documents, spans = documents + 1, spans + len(document.spans)
            html = marked(document.text, document.spans, colours, named=True)
            file.write(f'<p class="text">{html}</p>\n'.encode("utf-8", "replace"))
        file.write(page_end().encode())
    return Written(documents, spans)


def predict_documents(recognizer: Recognizer, source: Source, reading: Reading = Reading()) -> Iterator[Document]:
    """Yield a file's documents with predicted entities."""
    documents = _documents(_reader(recognizer, source, reading), source, reading)
    try:
        yield from _counted(_predicted(recognizer, documents, reading), reading)
    except InputError as error:
        raise error.at(source.shown) from None


def _reader(recognizer: Recognizer, source: Source, reading: Reading) -> Format:
    """Return the format of the documents.

    Also check the threshold, so that a wrong one is not reported as an error in the file.
    """
    thresholds(reading.threshold, recognizer.labels)
    return find_format(source, reading.format)


def _documents(reader: Format, source: Source, reading: Reading) -> Iterator[Document]:
    """Yield the documents. Those that are too long count as wrong records."""
    for document in reader.read(source, reading.options):
        try:
            check_length(document)
        except InputError as error:
            source.notes.reject(error.at(source.shown, source.line))
        else:
            yield document


def _predicted(recognizer: Recognizer, documents: Iterable[Document], reading: Reading) -> Iterator[Document]:
    return recognizer.predict(documents, batch_size=reading.batch_size, threshold=reading.threshold)


def _counted(documents: Iterable[Document], reading: Reading) -> Iterator[Document]:
    for document in documents:
        yield document
        if reading.on_document:
            reading.on_document()
