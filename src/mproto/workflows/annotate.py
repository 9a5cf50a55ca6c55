"""From a corpus on disk to a labelled corpus on disk, streaming."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.gazetteer.annotate import Policy, annotate
from mproto.gazetteer.options import MatchOptions
from mproto.io.outputs import check_apart
from mproto.text.formats import Options, detect, format_for_labels, get_format, write_documents
from mproto.text.scoring import Scorer, Scores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mproto.gazetteer.entries import Gazetteer
    from mproto.io.sources import Source
    from mproto.text.document import Document


@dataclass(frozen=True)
class Annotated:
    """What was done: counts, types that were taken for names, formats, and scores where the corpus has gold spans."""

    documents: int
    words: int
    labels: dict[str, int]
    names: tuple[str, ...]
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
    """Read documents, label them with a gazetteer, and write them; nothing is written if anything fails.

    Where documents had labels, the new ones are scored against them. Plain text becomes JSON Lines.

    Raises:
        InputError: the input, or the call, is wrong.
    """
    reader = get_format(read_format) if read_format else detect(source)
    writer = format_for_labels(output, reader, write_format)
    check_apart(source, output, is_folder=writer.is_folder)
    labels: Counter[str] = Counter()
    names: set[str] = set()
    scorer, has_gold = Scorer(), False
    found = words = longest = 0

    def documents() -> Iterator[Document]:
        nonlocal found, words, longest, has_gold
        read = reader.read(source, options)
        for document in annotate(
            read,
            gazetteer,
            matching=matching,
            options=match_options,
            cache_folder=cache_folder,
            on_names=names.update,
        ):
            found += 1
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
        if not found:
            raise source.error("holds no document", hint="check the file")

    try:
        written = write_documents(documents(), output, writer, options, force=force, notes=source.notes)
    except InputError as error:
        raise error.at(source.path) from None
    _warn(source, gazetteer, found, longest, labels.total())
    return Annotated(
        written.documents,
        words,
        dict(labels),
        tuple(sorted(names)),
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
        notes.count("documents, and not one term of the gazetteer in them: is it the right one?", documents)
