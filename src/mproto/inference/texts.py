"""The input of a recogniser as documents: a text, several texts, or texts split into words."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_CHARACTERS = 10_000_000
"""The maximum number of characters in a text."""
FIRST_BLOCK, LARGEST_BLOCK = 32, 1024
"""The number of documents in the first block, and the maximum number in later blocks. The windows
of a block are sorted by length together."""
BLOCK_CHARACTERS = 1_000_000
"""The maximum number of characters in a block. A longer document forms its own block."""


def is_one(texts: Any, *, split: bool) -> bool:
    """Return whether the input is one text, not several.

    Args:
        texts: a text, or an iterable of texts. A text that is split into words is a list or a tuple
            of strings.
        split: whether texts are split into words.
    """
    if not split:
        return isinstance(texts, str)
    return isinstance(texts, list | tuple) and bool(texts) and isinstance(texts[0], str)


def check_call(texts: Any, *, split: bool, batch_size: object) -> None:
    """Check the arguments of a call before the first result is requested.

    Raises:
        InputError: the input is neither a text nor an iterable of texts, or the batch size is
            wrong.
    """
    check_batch_size(batch_size)
    if not is_one(texts, split=split) and (isinstance(texts, str | bytes | Mapping) or not _is_iterable(texts)):
        if split:
            hint = "give a list of words, or a list of such lists"
            raise InputError(f"{texts!r:.40} is not a text that is split into words", hint=hint)
        raise InputError(f"{texts!r:.40} is not a text", hint="give a string, or a list of strings")


def check_batch_size(batch_size: object) -> None:
    """Check that a batch size is a positive whole number.

    Raises:
        InputError: it is not a whole number, or less than 1.
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral) or batch_size < 1:
        raise InputError(f"batch_size is {batch_size!r}", hint="give a whole number of windows, 1 or more")


def as_documents(texts: Iterable[Any], *, split: bool) -> Iterator[Document]:
    """Yield a document for each text.

    A text is read from the iterable only when its document is requested.

    Raises:
        InputError: one of the texts has the wrong type.
    """
    for number, text in enumerate(texts, 1):
        yield _from_words(text, number) if split else _from_text(text, number)


def blocks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Group documents into blocks that are tagged together.

    The first block is small so that the first result of a stream comes soon. Later blocks grow,
    because sorting more windows by length means less padding. Long documents make a block smaller.
    """
    block: list[Document] = []
    size, most = 0, FIRST_BLOCK
    for document in documents:
        if block and (len(block) == most or size + len(document.text) > BLOCK_CHARACTERS):
            yield block
            block, size, most = [], 0, min(2 * most, LARGEST_BLOCK)
        block.append(document)
        size += len(document.text)
    if block:
        yield block


def check_length(document: Document) -> None:
    """Check that a text is not too long.

    Raises:
        InputError: it has more than `MOST_CHARACTERS` characters.
    """
    if len(document.text) > MOST_CHARACTERS:
        name = f"document {document.id!r}" if document.id else "a text"
        raise InputError(
            f"{name} has {len(document.text):,} characters; the limit is {MOST_CHARACTERS:,}",
            hint="split it, for example into paragraphs or pages",
        )


def _from_text(text: Any, number: int) -> Document:
    if isinstance(text, Document):
        return text
    if isinstance(text, str):
        return Document(text)
    hint = "pass is_split_into_words=True for lists of words" if isinstance(text, list | tuple) else "give strings"
    raise InputError(f"text {number} is {_kind(text)}, not a string", hint=hint)


def _from_words(words: Any, number: int) -> Document:
    if not isinstance(words, list | tuple):
        raise InputError(f"text {number} is {_kind(words)}, not a list of words", hint="give its words as a list")
    for place, word in enumerate(words, 1):
        if not isinstance(word, str) or not word:
            problem = "empty" if word == "" else f"{_kind(word)}, not a string"
            raise InputError(f"word {place} of text {number} is {problem}", hint="leave it out")
    return Document.from_words(words)


def _is_iterable(value: Any) -> bool:
    """Return whether a value is iterable. Classes that only have `__getitem__` count, too."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
