"""What people pass to a recogniser, as documents: one text or many, a stream of them, or words that are split already."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_CHARACTERS = 10_000_000
"""Of one text."""
FIRST, AT_ONCE, CHARACTERS_AT_ONCE = 32, 1024, 1_000_000
"""Documents that are sorted by length together, at first and later, and their characters; a longer one goes alone."""


def is_one(texts: Any, *, split: bool) -> bool:
    """Whether this is one text, and not several.

    Args:
        texts: a text, or several of them in any iterable. Of words, a text is a list or a tuple.
        split: whether texts are given as words.
    """
    if not split:
        return isinstance(texts, str)
    return isinstance(texts, list | tuple) and bool(texts) and isinstance(texts[0], str)


def check_call(texts: Any, *, split: bool, batch_size: object) -> None:
    """See to it that a call can be right, before anybody reads what it gives.

    Raises:
        InputError: there is no text, nor can there be several; or so many windows cannot be read at once.
    """
    check_batch_size(batch_size)
    if not is_one(texts, split=split) and (isinstance(texts, str | bytes | Mapping) or not _is_iterable(texts)):
        hint = "give a list of words" if split and isinstance(texts, str) else "give a string, or several"
        raise InputError(f"{texts!r:.40} is no text" + " of words" * split, hint=hint)


def check_batch_size(batch_size: object) -> None:
    """See to it that this is a number of windows.

    Raises:
        InputError: it is not.
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral) or batch_size < 1:
        raise InputError(f"batch_size is {batch_size!r}, no number of windows", hint="give a whole number from 1 on")


def as_documents(texts: Iterable[Any], *, split: bool) -> Iterator[Document]:
    """A document for each text, without looking further than the one that is asked for.

    Raises:
        InputError: one of them is no text.
    """
    for number, text in enumerate(texts, 1):
        yield _from_words(text, number) if split else _from_text(text, number)


def blocks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents that are read together: few at first, since somebody may be waiting, then many; fewer long ones."""
    block: list[Document] = []
    size, most = 0, FIRST
    for document in documents:
        if block and (len(block) == most or size + len(document.text) > CHARACTERS_AT_ONCE):
            yield block
            block, size, most = [], 0, min(2 * most, AT_ONCE)
        block.append(document)
        size += len(document.text)
    if block:
        yield block


def check_length(document: Document) -> None:
    """See to it that a text is not too long to be read at once.

    Raises:
        InputError: it is.
    """
    if len(document.text) > MOST_CHARACTERS:
        name = f"document {document.id!r}" if document.id else "a text"
        raise InputError(
            f"{name} has {len(document.text):,} characters, and {MOST_CHARACTERS:,} are the most that are read as one",
            hint="split it, at paragraphs or pages for example",
        )


def _from_text(text: Any, number: int) -> Document:
    if isinstance(text, Document):
        return text
    if isinstance(text, str):
        return Document(text)
    hint = "pass is_split_into_words=True for words" if isinstance(text, list | tuple) else "give strings"
    raise InputError(f"text {number} is {_kind(text)}, not a string", hint=hint)


def _from_words(words: Any, number: int) -> Document:
    if not isinstance(words, list | tuple):
        raise InputError(f"text {number} is {_kind(words)}, not a list of words", hint="give its words as a list")
    for place, word in enumerate(words, 1):
        if not isinstance(word, str) or not word:
            what = "empty" if word == "" else f"{_kind(word)}, not a string"
            raise InputError(f"word {place} of text {number} is {what}", hint="leave it out")
    return Document.from_words(words)


def _is_iterable(value: Any) -> bool:
    """Whether a loop could go over it; some classes that know no `__iter__` are, too."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
