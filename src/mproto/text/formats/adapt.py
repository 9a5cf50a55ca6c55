"""Adapt documents to a format, and count the losses."""

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

_SPECIAL_IN_WORDS = re.compile(r"\s|(?<!.)-(?=DOCSTART-(?!.))|(?<!.)#(?=\s)")
"""White space, the first character of a `-DOCSTART-` word, and a `#` that would start a comment."""
_SPECIAL_IN_LABELS = re.compile(r"[\s,]+")


class Unsupported(NamedTuple):
    """The features that a format cannot hold: the complement of its `Keeps`.

    Booleans, because they are tested for every document and flags are slow.
    """

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
    def of(cls, keeps: Keeps) -> Unsupported:
        return cls(**{name: Keeps[name.upper()] not in keeps for name in cls._fields})


def adapt(documents: Iterable[Document], format: Format, options: Options, notes: Notes) -> Iterator[Document]:
    """Yield the documents, adapted to the format, and count the losses in the notes.

    Raises:
        InputError: spans overlap and the format cannot hold overlaps. Documents are skipped instead
            if the notes say so.
    """
    merges_spans = format.has_tags and options.write_scheme == "io"
    unsupported = Unsupported.of(format.keeps & ~Keeps.TOUCHING if merges_spans else format.keeps)
    for number, document in enumerate(documents, 1):
        try:
            adapted = _adapt(document, format.name, unsupported, notes)
        except InputError as error:
            name = f"document {number}" + (f" ({document.id})" if document.id else "")
            notes.reject(InputError(f"{name}: {error.message}", hint=error.hint))
        else:
            if adapted is not None:
                if merges_spans and adapted.gold_word_spans:
                    notes.count(
                        "gold spans were merged with a touching one of the same label",
                        _count_touching(adapted.gold_word_spans),
                    )
                yield adapted


def _adapt(document: Document, name: str, unsupported: Unsupported, notes: Notes) -> Document | None:
    _check_characters(document)
    if unsupported.empty and not document.words:
        notes.count(f"documents without words were left out: {name} cannot hold them")
        return None
    document = _drop_parts(document, unsupported, notes)
    if unsupported.cuts and not document.spans_fit_words:
        document = _align(document, notes)
    if unsupported.overlaps and (overlap := document.first_overlap):
        shown = " and ".join(f"{document.surface(span)!r} ({span.label})" for span in overlap)
        raise InputError(
            f"spans {shown} overlap, and {name} cannot hold that",
            hint="choose a format that can (mproto formats), or pass --on-error skip to leave such documents out",
        )
    if unsupported.any_label:
        document = _replace_in_labels(document, notes)
    if unsupported.text:
        return _adapt_words(document, unsupported, notes)
    return _adapt_text(document, unsupported, notes)


def _drop_parts(document: Document, unsupported: Unsupported, notes: Notes) -> Document:
    """Return the document without the parts that the format has no field for."""
    spans, gold, id_, meta = document.spans, document.gold, document.id, document.meta
    if spans and unsupported.spans:
        notes.count("spans were lost", len(spans))
        spans = ()
    if gold is not None and unsupported.gold:
        notes.count("gold spans were lost: the format holds one set of spans", len(gold))
        gold = None
    if id_ and unsupported.ids:
        notes.count("document ids were lost")
        id_ = ""
    if meta and unsupported.meta:
        notes.count("documents lost their metadata")
        meta = NO_META
    if meta and (clashes := RESERVED_KEYS & meta.keys()):
        notes.count("metadata values were lost: file formats use their keys for something else", len(clashes))
        meta = {key: value for key, value in meta.items() if key not in clashes}
    if spans is document.spans and gold is document.gold and id_ == document.id and meta is document.meta:
        return document
    return Document(document.text, spans, document.given_words, id_, gold, meta)


def _align(document: Document, notes: Notes) -> Document:
    """Align spans with word boundaries.

    Words that were given stay as they are, and spans are widened to them. Otherwise words are split
    at span edges.
    """
    if document.given_words is None:
        notes.count("documents had words split, or white space trimmed from spans, to align the two")
        return _widen(document.split_at_spans(), notes)
    notes.count("documents had spans widened to whole words, since their words were given")
    return _widen(document, notes)


def _widen(document: Document, notes: Notes) -> Document:
    widened = document.widen_spans()
    before = len(document.spans) + len(document.gold or ())
    notes.count(
        "spans were lost: they contain no word, or equal another span once widened",
        before - len(widened.spans) - len(widened.gold or ()),
    )
    return widened


def _check_characters(document: Document) -> None:
    """Reject lone surrogates, which UTF-8 cannot encode."""
    for text in (document.text, document.id, *[label for _, _, label in document.spans + (document.gold or ())]):
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                value = error.object[error.start]
                raise InputError(
                    f"contains {value!r}, a lone surrogate, which UTF-8 cannot encode", hint="correct it"
                ) from None


def _replace_in_labels(document: Document, notes: Notes) -> Document:
    spans, gold = document.spans, document.gold
    if not any(_SPECIAL_IN_LABELS.search(span.label) for span in spans + (gold or ())):
        return document
    notes.count("documents had white space or commas in labels replaced by _")

    def replaced(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(span._replace(label=_SPECIAL_IN_LABELS.sub("_", span.label)) for span in spans)

    return replace(document, spans=replaced(spans), gold=None if gold is None else replaced(gold))


def _adapt_text(document: Document, unsupported: Unsupported, notes: Notes) -> Document:
    """Adapt a document to a format that holds its text."""
    if document.given_words is None or not unsupported.words:
        return document
    if document.given_words != split_words(document.text):
        notes.count("documents lost their word boundaries")
    return Document(document.text, document.spans, None, document.id, document.gold, document.meta)


def _adapt_words(document: Document, unsupported: Unsupported, notes: Notes) -> Document:
    """Adapt a document to a format that holds words but no text."""
    words = document.word_texts
    if unsupported.touching:
        notes.count("spans were merged with a touching one of the same label", _count_touching(document.word_spans))
    if unsupported.any_word and any(map(_SPECIAL_IN_WORDS.search, words)):
        notes.count("documents had white space in words, or words that mark a new document or comment, replaced by _")
        words = tuple(_SPECIAL_IN_WORDS.sub("_", word) for word in words)
    elif document.is_space_joined:
        return document
    else:
        notes.count("documents lost their original spacing")
    return Document.from_words(
        words, document.word_spans, id=document.id, gold=document.gold_word_spans, meta=document.meta
    )


def _count_touching(spans: tuple[WordSpan, ...]) -> int:
    return sum(one.end == other.start and one.label == other.label for one, other in pairwise(spans))
