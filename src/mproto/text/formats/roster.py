"""RoSTER: `X_text.txt`, one sentence per line; tags in `X_label_dist.txt`, `X_label_true.txt`.

Distant labels become spans and true labels gold spans. Without distant labels, the true labels
become spans. `types.txt` lists the labels. The tag `UNK` (unknown) is read as outside.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.io.sources import Source
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.sidecar import append_names, locked_sidecar, read_names
from mproto.text.formats.tag_reading import TagReader
from mproto.text.tagging import OUTSIDE, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mproto.text.document import WordSpan

TEXT, DISTANT, TRUE, TYPES = "_text.txt", "_label_dist.txt", "_label_true.txt", "types.txt"


def _sibling(path: Path, ending: str) -> Path:
    """Return the path of another file of the same data: `X` + `ending` for `X_text.txt`."""
    name = path.name.removesuffix(".gz")
    if not name.endswith(TEXT):
        raise InputError(
            f"the name of a RoSTER text file must end in {TEXT}", path=path, hint=f"for example train{TEXT}"
        )
    return path.with_name(name.removesuffix(TEXT) + ending)


def read(source: Source, options: Options) -> Iterator[Document]:
    distant, true = (path if (path := _sibling(source.path, ending)).exists() else None for ending in (DISTANT, TRUE))
    first, second = (distant, true) if distant else (true, None)
    if first is None:
        labels = f"{_sibling(source.path, DISTANT).name} nor {_sibling(source.path, TRUE).name}"
        raise source.error(f"has neither {labels} next to it", hint="put its label file into the same folder")
    tags = TagReader(options)

    def spans(words: list[str], path: Path, line: str | None, number: int) -> Sequence[WordSpan]:
        names = [] if line is None else line.split()
        if len(names) != len(words):
            raise InputError(f"has {len(names)} tags for a sentence of {len(words)} words", path=path, line=number)
        source.notes.count("words with the tag UNK were read as outside", names.count("UNK"))
        try:
            return tags.spans([OUTSIDE if name == "UNK" else name for name in names])
        except InputError as error:
            raise error.at(path, number) from None

    parts = [source, *(source.beside(path) for path in (first, second) if path)]
    for number, lines in enumerate(zip_longest(*(part.raw_lines() for part in parts)), 1):
        try:
            texts = [part.decode(line[1], number) if line else None for part, line in zip(parts, lines, strict=True)]
            if texts[0] is None:
                raise InputError(f"has more lines than {source.path.name}", path=first, line=number)
            words = texts[0].split()
            yield Document.from_words(
                words,
                spans(words, first, texts[1], number),
                gold=spans(words, second, texts[2], number) if second else None,
            )
        except InputError as error:
            source.notes.reject(error)
    tags.report(source.notes)


def write(documents: Iterable[Document], target: Target) -> None:
    types_path = locked_sidecar(target, TYPES)
    known = {OUTSIDE, *(read_names(Source(types_path), types_path) or ())}
    types: dict[str, None] = {}
    text = target.outputs.open(target.path)
    distant = target.outputs.open(_sibling(target.path, DISTANT))
    true = None
    for number, document in enumerate(documents):
        length = len(document.words)
        text.write((" ".join(document.word_texts) + "\n").encode())
        distant.write(_line(document.word_spans, length, target))
        if document.gold_word_spans is not None and number == 0:
            true = target.outputs.open(_sibling(target.path, TRUE))
        if true is not None:
            true.write(_line(document.gold_word_spans or (), length, target))
        elif document.gold:
            target.notes.count("gold spans were lost: the first document has no gold spans", len(document.gold))
        types |= dict.fromkeys(span.label for span in document.spans + (document.gold or ()))
    if true is None:
        target.outputs.discard(_sibling(target.path, TRUE))
    if new := [name for name in types if name not in known]:
        append_names(target, types_path, new)


def _line(spans: Sequence[WordSpan], length: int, target: Target) -> bytes:
    return (" ".join(encode(spans, length, target.options.write_scheme)) + "\n").encode()


def sniff(head: Head) -> bool:
    if head.is_folder or not head.path.name.removesuffix(".gz").endswith(TEXT):
        return False
    return _sibling(head.path, DISTANT).exists() or _sibling(head.path, TRUE).exists()


FORMAT = Format(
    name="roster",
    title="RoSTER, SPLIT_text.txt and SPLIT_label_dist.txt",
    keeps=Keeps.WORDS | Keeps.SPANS | Keeps.TOUCHING | Keeps.GOLD,
    sample="train_text.txt:        Aspirin helps\ntrain_label_dist.txt:  B-Chemical O",
    read=read,
    write=write,
    sniff=sniff,
    has_tags=True,
    suffixes=(TEXT,),
)
