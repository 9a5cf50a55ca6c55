"""Label a corpus with a gazetteer, document by document: the work of `mproto annotate`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.gazetteer.annotate import Policy, annotate
from mproto.gazetteer.options import MatchOptions
from mproto.io.outputs import check_apart
from mproto.text.formats import Options, find_format, format_for_labels, write_documents
from mproto.text.scoring import Scorer, Scores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mproto.gazetteer.entries import Gazetteer
    from mproto.io.sources import Source
    from mproto.text.document import Document


@dataclass(frozen=True)
class Annotated:
    """A labelled corpus.

    Attributes:
        documents: the number of documents.
        words: the number of words.
        labels: the number of spans of each type.
        name_types: entity types whose terms were matched as names.
        read_format: the format of the input.
        write_format: the format of the output.
        scores: the scores of the labels against the gold spans, if the corpus has any.
    """

    documents: int
    words: int
    labels: dict[str, int]
    name_types: tuple[str, ...]
    read_format: str
    write_format: str
    scores: Scores | None


def annotate_file(
    source: Source,
    gazetteer: Gazetteer,
    output: Path,
    *,
    matching: Policy = "default",
    match_options: MatchOptions = MatchOptions(),
    read_format: str | None = None,
    write_format: str | None = None,
    options: Options = Options(),
    force: bool = False,
    cache_folder: Path | None = None,
) -> Annotated:
    """Read documents, label them with a gazetteer, and write them.

    If anything fails, nothing is written.

    If the documents have labels, the new labels are scored against them. Plain text becomes JSON
    Lines.

    Args:
        source: the documents.
        gazetteer: the terms.
        output: the file or folder to write, or `-` for standard output.
        matching: the matching policy; see `mproto.annotate`.
        match_options: how to match terms.
        read_format: the format of the input; detected from its content if not given.
        write_format: the format of the output; chosen by its name if not given.
        options: how to read and write documents.
        force: replace an existing output.
        cache_folder: a folder for the search index of a large gazetteer.

    Raises:
        InputError: the input or the call is wrong.
    """
    reader = find_format(source, read_format)
    writer = format_for_labels(output, reader, write_format)
    check_apart(source, output, is_folder=writer.is_folder)
    labels: Counter[str] = Counter()
    name_types: set[str] = set()
    scorer, has_gold = Scorer(), False
    count = words = longest = 0

    def documents() -> Iterator[Document]:
        nonlocal count, words, longest, has_gold
        read = reader.read(source, options)
        for document in annotate(
            read,
            gazetteer,
            matching=matching,
            options=match_options,
            cache_folder=cache_folder,
            on_names=name_types.update,
        ):
            count += 1
            length = document.word_count
            words += length
            if length > longest:
                longest = length
            for _, _, label in document.spans:
                labels[label] += 1
            if document.gold is not None:
                has_gold = True
                scorer.add(document.text, document.gold, document.spans)
            yield document
        if not count:
            raise source.error("contains no document", hint="check the file")

    try:
        written = write_documents(documents(), output, writer, options, force=force, notes=source.notes)
    except InputError as error:
        raise error.at(source.path) from None
    _warn(source, gazetteer, count, longest, labels.total())
    return Annotated(
        written.documents,
        words,
        dict(labels),
        tuple(sorted(name_types)),
        reader.name,
        writer.name,
        scorer.scores() if has_gold else None,
    )


def _warn(source: Source, gazetteer: Gazetteer, documents: int, longest: int, labels: int) -> None:
    notes = source.notes
    repeated = len(gazetteer) - len({(entry.surface, entry.type) for entry in gazetteer})
    notes.count("entries of the gazetteer are listed more than once", repeated)
    too_long = sum(entry.surface.count(" ") >= longest for entry in gazetteer)
    notes.count("entries of the gazetteer are longer than any document", too_long)
    if not labels:
        notes.count(
            "documents, but no term of the gazetteer was found in them; check that it is the right one", documents
        )
