"""spaCy's DocBin: documents with words and entities.

White space that spaCy cannot attach to a word is a token of its own there; it is not a word here.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from mproto.errors import MissingExtraError
from mproto.text.document import Document, Span
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.words import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mproto.inputs import Source

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
    vocab = spacy.vocab.Vocab()
    try:
        docs = spacy.tokens.DocBin().from_bytes(data).get_docs(vocab)
        first = list(islice(docs, 1))
    except Exception:  # zlib, msgpack, numpy and string store errors alike: it is not a DocBin
        raise source.error("cannot be read as a spaCy DocBin", hint="write it again with DocBin.to_disk") from None
    name = cache(vocab.strings.__getitem__)
    for doc in chain(first, docs):
        grouped = sum(map(len, doc.spans.values()))
        source.notes.count("spans of span groups were not read: only entities are", grouped)
        text, words = _text_and_words(doc.to_array(["ORTH", "SPACY"]).tolist(), name)
        spans = tuple(Span(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents)
        yield Document(text, spans, tuple(words))


def _text_and_words(tokens: list[tuple[int, int]], name: Callable[[int], str]) -> tuple[str, list[Word]]:
    """`doc.text`, and where its words are, from numbers: an object for each token takes longer than all else."""
    pieces: list[str] = []
    words: list[Word] = []
    position = 0
    for number, has_space in tokens:
        token = name(number)
        end = position + len(token)
        if not token.isspace():
            words.append(Word(position, end))
        pieces.append(f"{token} " if has_space else token)
        position = end + has_space
    return "".join(pieces), words


def write(documents: Iterable[Document], target: Target) -> None:
    packed = _Packed(_spacy())
    for document in documents:
        packed.add(document)
    target.notes.count("words of nothing but white space are no words to spaCy", packed.blank_words)
    target.outputs.open(target.path).write(packed.to_bytes())


class _Packed:
    """What `DocBin.to_bytes` gives, filled without a spaCy `Doc` for each document, which takes several times as long.

    https://spacy.io/api/docbin#serialization-format says what it holds: a row of numbers for each token, and the strings.
    """

    def __init__(self, spacy: Any) -> None:
        self._empty = spacy.tokens.DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
        self._numbers = _Numbers(spacy.strings.StringStore().add)
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
            types[first:last] = [self._numbers[label]] * (last - first)
        self._words.extend(map(self._numbers.__getitem__, tokens))
        self._iob.extend(iob)
        self._types.extend(types)
        self._spaces.extend(spaces)
        self._lengths.append(len(tokens))

    def _tokens(self, document: Document) -> tuple[list[str], list[bool], list[int]]:
        """Tokens as spaCy has them, whether a blank follows each, and where each starts: words, and the rest of gaps."""
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
            "strings": sorted(self._numbers),
            "cats": [{}] * count,
            "flags": [{"has_unknown_spaces": False}] * count,
            "span_groups": [srsly.msgpack_dumps([])] * count,
        }
        return zlib.compress(srsly.msgpack_dumps(message))


class _Numbers(dict[str, int]):
    """What spaCy calls each string, asked for once."""

    def __init__(self, add: Callable[[str], int]) -> None:
        super().__init__()
        self._add = add

    def __missing__(self, string: str) -> int:
        number = self[string] = self._add(string)
        return number


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
