"""spaCy's DocBin: documents with words and entities.

In spaCy, white space that does not belong to a word is a token. It is not a word here.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from functools import cache
from itertools import accumulate, chain, islice
from operator import add
from typing import TYPE_CHECKING, Any, TypeVar

from mproto.errors import InputError, MissingExtraError
from mproto.text.document import Document, Span
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.words import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mproto.io.sources import Source

T = TypeVar("T")

_INSIDE, _OUTSIDE, _BEGINS = 1, 2, 3
"""spaCy's numbers for IOB tags."""


def _spacy() -> Any:
    try:
        import spacy.tokens
    except ImportError:
        raise MissingExtraError("spaCy's DocBin", "spacy") from None
    return spacy


def read(source: Source, options: Options) -> Iterator[Document]:  # noqa: ARG001
    spacy = _spacy()
    with source.open() as stream:
        data = source.guard(stream.read)
    try:
        packed = spacy.tokens.DocBin().from_bytes(data)
        rows = _rows(packed, spacy)
        first = list(islice(rows, 1))
    except Exception:  # zlib, msgpack, numpy or the string store: the file is not a DocBin
        raise _unreadable(source) from None
    source.notes.count("spans of span groups were not read; only entities are", _count_grouped_spans(packed, spacy))
    for number, row in enumerate(chain(first, _guarded(rows, source)), 1):
        try:
            yield _document(*row)
        except ValueError as error:
            source.notes.reject(source.error(f"document {number}: {error}", hint="correct its entities"))


def _unreadable(source: Source) -> InputError:
    return source.error("cannot be read as a spaCy DocBin", hint="write it again with DocBin.to_disk")


def _guarded(rows: Iterator[T], source: Source) -> Iterator[T]:
    try:
        yield from rows
    except KeyError:  # the id of a string that is not in the string store
        raise _unreadable(source) from None


Row = tuple[list[str], list[bool], list[int], list[str]]
"""One document: its tokens, whether a space follows each, and their IOB tags and entity types."""


def _rows(packed: Any, spacy: Any) -> Iterator[Row]:
    """Yield the rows of a DocBin.

    Makes no spaCy `Doc` for each document, which would take most of the time.
    """
    strings = spacy.strings.StringStore(packed.strings)
    name = cache(strings.__getitem__)
    attributes = [spacy.attrs.intify_attr(attribute) for attribute in packed.attrs]
    words, iob, types = (
        attributes.index(attribute) if attribute in attributes else None
        for attribute in (spacy.attrs.ORTH, spacy.attrs.ENT_IOB, spacy.attrs.ENT_TYPE)
    )
    for numbers, spaces, flags in zip(packed.tokens, packed.spaces, packed.flags, strict=True):
        yield (
            list(map(name, numbers[:, words].tolist())),
            [True] * len(numbers) if flags.get("has_unknown_spaces") else spaces[:, 0].tolist(),
            [_OUTSIDE] * len(numbers) if iob is None else numbers[:, iob].tolist(),
            [""] * len(numbers) if types is None else list(map(name, numbers[:, types].tolist())),
        )


def _count_grouped_spans(packed: Any, spacy: Any) -> int:
    """Return the number of spans in span groups."""
    nothing = (b"", spacy.tokens.Doc(spacy.vocab.Vocab()).spans.to_bytes())
    if all(groups in nothing for groups in packed.span_groups):
        return 0
    return sum(sum(map(len, doc.spans.values())) for doc in packed.get_docs(spacy.vocab.Vocab()))


def _document(tokens: list[str], spaces: list[bool], iob: list[int], types: list[str]) -> Document:
    pieces = [f"{token} " if has_space else token for token, has_space in zip(tokens, spaces, strict=True)]
    text, lengths = "".join(pieces), list(map(len, tokens))
    starts = [0, *accumulate(map(add, lengths, spaces))][:-1]
    ends = list(map(add, starts, lengths))
    words = map(Word, starts, ends)
    if any(map(str.isspace, tokens)):
        words = (word for word, token in zip(words, tokens, strict=True) if not token.isspace())  # type: ignore[assignment]
    spans = [Span(starts[first], ends[last - 1], types[first]) for first, last in _entities(iob, types)]
    return Document(text, tuple(spans), tuple(words))


def _entities(iob: list[int], types: list[str]) -> list[tuple[int, int]]:
    """Return entities as token ranges, as `Doc.ents` does.

    The first token of an entity determines its type. A `B` without a type does not start an entity.
    """
    if _BEGINS not in iob and _INSIDE not in iob:
        return []
    entities, start = [], -1
    for i, tag in enumerate([*iob, _OUTSIDE]):
        if tag == _INSIDE:
            if start < 0:
                raise ValueError(f"token {i + 1} has the tag I without a B before it")
            continue
        if start >= 0:
            entities.append((start, i))
        start = i if tag == _BEGINS and types[i] else -1
    return entities


def write(documents: Iterable[Document], target: Target) -> None:
    packed = _PackedDocs(_spacy())
    for document in documents:
        packed.add(document)
    target.notes.count("words are white space only, which is not a word in spaCy", packed.blank_words)
    target.outputs.open(target.path).write(packed.to_bytes())


class _PackedDocs:
    """Builds the output of `DocBin.to_bytes`.

    Makes no spaCy `Doc` for each document, which is several times faster. The output holds a row of
    numbers for each token, and the strings: https://spacy.io/api/docbin#serialization-format.
    """

    def __init__(self, spacy: Any) -> None:
        self._empty = spacy.tokens.DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
        self._ids = _StringIds(spacy.strings.StringStore().add)
        self._words, self._iob, self._types = array("Q"), array("Q"), array("Q")
        self._spaces = bytearray()
        self._lengths = array("i")
        self.blank_words = 0

    def add(self, document: Document) -> None:
        tokens, spaces, starts = self._tokens(document)
        iob, types = [_OUTSIDE] * len(tokens), [0] * len(tokens)
        for start, end, label in document.spans:
            first, last = bisect_left(starts, start), bisect_left(starts, end)
            iob[first:last] = [_BEGINS] + [_INSIDE] * (last - first - 1)
            types[first:last] = [self._ids[label]] * (last - first)
        self._words.extend(map(self._ids.__getitem__, tokens))
        self._iob.extend(iob)
        self._types.extend(types)
        self._spaces.extend(spaces)
        self._lengths.append(len(tokens))

    def _tokens(self, document: Document) -> tuple[list[str], list[bool], list[int]]:
        """Return spaCy's tokens of a document, whether a space follows each, and where each starts.

        Tokens are the words, and the gaps between words without the one space that follows a word.
        """
        tokens: list[str] = []
        spaces: list[bool] = []
        starts: list[int] = []
        text, position = document.text, 0
        for start, end in [*document.words, (len(document.text),) * 2]:
            if start > position and tokens and text[position] == " ":
                spaces[-1] = True
                position += 1
            if start > position:
                tokens.append(text[position:start])
                spaces.append(False)
                starts.append(position)
            if end > start:
                token = text[start:end]
                self.blank_words += token.isspace()
                tokens.append(token)
                spaces.append(False)
                starts.append(start)
            position = end
        return tokens, spaces, starts

    def to_bytes(self) -> bytes:
        import srsly  # comes with spaCy

        count, columns = len(self._lengths), (self._words, self._iob, self._types)
        rows = array("Q", bytes(8 * len(columns) * len(self._words)))
        for i, column in enumerate(columns):
            rows[i :: len(columns)] = column
        message = {
            "version": self._empty.version,
            "attrs": self._empty.attrs,
            "tokens": rows.tobytes(),
            "spaces": bytes(self._spaces),
            "lengths": self._lengths.tobytes(),
            "strings": sorted(self._ids),
            "cats": [{}] * count,
            "flags": [{"has_unknown_spaces": False}] * count,
            "span_groups": [srsly.msgpack_dumps([])] * count,
        }
        return zlib.compress(srsly.msgpack_dumps(message))


class _StringIds(dict[str, int]):
    """spaCy's ids of strings, each looked up once."""

    def __init__(self, add: Callable[[str], int]) -> None:
        super().__init__()
        self._add = add

    def __missing__(self, string: str) -> int:
        id_ = self[string] = self._add(string)
        return id_


def sniff(head: Head) -> bool:
    return head.suffix == ".spacy" and head.data[:1] == b"\x78"


FORMAT = Format(
    name="docbin",
    title="spaCy DocBin",
    keeps=~(Keeps.CUTS | Keeps.OVERLAPS | Keeps.GOLD | Keeps.IDS | Keeps.META),
    sample='(binary)  doc.text: "Aspirin helps"\n          doc.ents: Aspirin/Chemical',
    read=read,
    write=write,
    sniff=sniff,
    suffixes=(".spacy",),
    extra="spacy",
)
