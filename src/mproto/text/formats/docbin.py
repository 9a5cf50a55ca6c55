"""spaCy's DocBin: documents with words and entities.

White space that spaCy cannot attach to a word is a token of its own there; it is not a word here.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from mproto.errors import MissingExtraError
from mproto.text.document import Document, Span
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.inputs import Source


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
        docs = spacy.tokens.DocBin().from_bytes(data).get_docs(spacy.vocab.Vocab())
        first = list(islice(docs, 1))
    except Exception:  # zlib, msgpack, numpy and string store errors alike: it is not a DocBin
        raise source.error("cannot be read as a spaCy DocBin", hint="write it again with DocBin.to_disk") from None
    for doc in chain(first, docs):
        grouped = sum(map(len, doc.spans.values()))
        source.notes.count("spans of span groups were not read: only entities are", grouped)
        yield Document(
            doc.text,
            tuple(Span(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents),
            given_words=tuple(Word(t.idx, t.idx + len(t)) for t in doc if not t.text.isspace()),
        )


def write(documents: Iterable[Document], target: Target) -> None:
    spacy = _spacy()
    vocab = spacy.vocab.Vocab()
    docs = spacy.tokens.DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
    for document in documents:
        blank = sum(document.text[start:end].isspace() for start, end in document.words)
        target.notes.count("words of nothing but white space are no words to spaCy", blank)
        words, spaces = _tokens(document)
        doc = spacy.tokens.Doc(vocab, words=words, spaces=spaces)
        doc.ents = [doc.char_span(*span) for span in document.spans]
        docs.add(doc)
    target.outputs.open(target.path).write(docs.to_bytes())


def _tokens(document: Document) -> tuple[list[str], list[bool]]:
    """Tokens as spaCy has them, and whether a space follows each: the words, and what is left of the gaps."""
    words: list[str] = []
    spaces: list[bool] = []
    position = 0
    for start, end in [*document.words, (len(document.text),) * 2]:
        gap = document.text[position:start]
        if gap.startswith(" ") and words:
            spaces[-1], gap = True, gap[1:]
        if gap:
            words.append(gap)
            spaces.append(False)
        if end > start:
            words.append(document.text[start:end])
            spaces.append(False)
        position = end
    return words, spaces


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
