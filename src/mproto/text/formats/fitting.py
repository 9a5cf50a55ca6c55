"""Make documents fit what a format can hold, and count what that costs."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mproto.errors import InputError
from mproto.text.document import NO_META, Document
from mproto.text.formats.base import RESERVED_KEYS, Keeps
from mproto.text.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.errors import Notes
    from mproto.text.document import Span, WordSpan
    from mproto.text.formats.base import Format, Options

_BREAKS = re.compile(r"\s|(?<!.)-(?=DOCSTART-(?!.))|(?<!.)#(?=\s)")
_NOT_IN_LABELS = re.compile(r"[\s,]+")


class Lacks(NamedTuple):
    """What a format cannot hold, under the names of `Keeps`; plain truth values, since they are asked for every document."""

    text: bool
    words: bool
    any_word: bool
    spans: bool
    cuts: bool
    overlaps: bool
    touching: bool
    any_label: bool
    gold: bool
    ids: bool
    meta: bool
    empty: bool

    @classmethod
    def of(cls, keeps: Keeps) -> Lacks:
        return cls(**{name: Keeps[name.upper()] not in keeps for name in cls._fields})


def fit(documents: Iterable[Document], format: Format, options: Options, notes: Notes) -> Iterator[Document]:
    """The documents as the format will hold them; what it cannot hold is counted in the notes.

    Raises:
        InputError: spans overlap and the format has no way to say so (unless the notes say to skip).
    """
    merges = format.has_tags and options.write_scheme == "io"
    lacks = Lacks.of(format.keeps & ~Keeps.TOUCHING if merges else format.keeps)
    for number, document in enumerate(documents, 1):
        try:
            fitted = _fit(document, format.name, lacks, notes)
        except InputError as error:
            name = f"document {number}" + (f" ({document.id})" if document.id else "")
            notes.reject(InputError(f"{name}: {error.message}", hint=error.hint))
        else:
            if fitted is not None:
                if merges and fitted.gold_word_spans:
                    notes.count(
                        "gold spans were merged with a touching one of the same label",
                        _touching(fitted.gold_word_spans),
                    )
                yield fitted


def _fit(document: Document, name: str, lacks: Lacks, notes: Notes) -> Document | None:
    _check_characters(document)
    if lacks.empty and not document.words:
        notes.count(f"documents without a word were left out: {name} cannot hold them")
        return None
    document = _drop(document, lacks, notes)
    if lacks.cuts and not document.spans_fit_words:
        document = _align(document, notes)
    if lacks.overlaps and (overlap := document.first_overlap):
        shown = " and ".join(f"{document.surface(span)!r} ({span.label})" for span in overlap)
        raise InputError(
            f"spans {shown} overlap, and {name} cannot hold that",
            hint="choose a format that can (mproto formats), or pass --on-error skip to leave such documents out",
        )
    if lacks.any_label:
        document = _plain_labels(document, notes)
    return _fit_words(document, lacks, notes) if lacks.text else _fit_text(document, lacks, notes)


def _drop(document: Document, lacks: Lacks, notes: Notes) -> Document:
    """Without the parts that the format has no place for."""
    spans, gold, id_, meta = document.spans, document.gold, document.id, document.meta
    if spans and lacks.spans:
        notes.count("spans were lost", len(spans))
        spans = ()
    if gold is not None and lacks.gold:
        notes.count("gold spans were lost: the format holds one set of spans", len(gold))
        gold = None
    if id_ and lacks.ids:
        notes.count("document ids were lost")
        id_ = ""
    if meta and lacks.meta:
        notes.count("documents lost their metadata")
        meta = NO_META
    if meta and (clashes := RESERVED_KEYS & meta.keys()):
        notes.count("metadata values were lost whose keys mean something else in the format", len(clashes))
        meta = {key: value for key, value in meta.items() if key not in clashes}
    if spans is document.spans and gold is document.gold and id_ == document.id and meta is document.meta:
        return document
    return Document(document.text, spans, document.given_words, id_, gold, meta)


def _align(document: Document, notes: Notes) -> Document:
    """Spans that start and end where words do: words of our own are cut, given ones are taken in whole."""
    if document.given_words is None:
        notes.count("documents had words cut at span edges, or white space trimmed from spans, so that both fit")
        return _widen(document.split_at_spans(), notes)
    notes.count("documents had spans widened to the whole words that they were given with")
    return _widen(document, notes)


def _widen(document: Document, notes: Notes) -> Document:
    widened = document.widen_spans()
    before = len(document.spans) + len(document.gold or ())
    notes.count(
        "spans without a word in them, or the same once widened, were lost",
        before - len(widened.spans) - len(widened.gold or ()),
    )
    return widened


def _check_characters(document: Document) -> None:
    """Half a character (a lone surrogate) is no text: UTF-8 cannot hold it."""
    for text in (document.text, document.id, *[label for _, _, label in document.spans + (document.gold or ())]):
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                value = error.object[error.start]
                raise InputError(
                    f"it holds {value!r}, half of a character, which UTF-8 cannot hold", hint="correct it"
                ) from None


def _plain_labels(document: Document, notes: Notes) -> Document:
    spans, gold = document.spans, document.gold
    if not any(_NOT_IN_LABELS.search(span.label) for span in spans + (gold or ())):
        return document
    notes.count("documents had white space or commas inside labels replaced by _")

    def plain(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(span._replace(label=_NOT_IN_LABELS.sub("_", span.label)) for span in spans)

    return replace(document, spans=plain(spans), gold=None if gold is None else plain(gold))


def _fit_text(document: Document, lacks: Lacks, notes: Notes) -> Document:
    if document.given_words is None or not lacks.words:
        return document
    if document.given_words != split_words(document.text):
        notes.count("documents lost how they were split into words")
    return Document(document.text, document.spans, None, document.id, document.gold, document.meta)


def _fit_words(document: Document, lacks: Lacks, notes: Notes) -> Document:
    words = document.word_texts
    if lacks.touching:
        notes.count("spans were merged with a touching one of the same label", _touching(document.word_spans))
    if lacks.any_word and any(map(_BREAKS.search, words)):
        notes.count("documents had white space inside words, or words that mean a new document, changed with _")
        words = tuple(_BREAKS.sub("_", word) for word in words)
    elif document.is_space_joined:
        return document
    else:
        notes.count("documents lost their original spacing")
    return Document.from_words(
        words, document.word_spans, id=document.id, gold=document.gold_word_spans, meta=document.meta
    )


def _touching(spans: tuple[WordSpan, ...]) -> int:
    return sum(one.end == other.start and one.label == other.label for one, other in pairwise(spans))
