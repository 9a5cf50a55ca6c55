"""Words to sub-words, with the tokenizers library alone: exported models are used without any other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable

CHUNK, LINE = 10_000, 100  # words of one call of the tokenizer, which holds all its results in memory, and of one line
_SURROGATES = re.compile("[\ud800-\udfff]")  # the tokenizers library refuses text that UTF-8 cannot hold


class Tokens:
    """What an encoder's tokenizer makes of single words.

    Args:
        tokenizer: any; it is copied.
        unknown: the sub-word for words that have none.
        pad: the sub-word that fills up shorter inputs.

    Attributes:
        before, after: the sub-words that it puts around a text.
    """

    def __init__(self, tokenizer: Tokenizer, *, unknown: int, pad: int) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.unknown, self.pad = unknown, pad
        probe = self._tokenizer.encode(["a"], is_pretokenized=True)
        inside = [position for position, word in enumerate(probe.word_ids) if word is not None]
        self.before, self.after = probe.ids[: inside[0]], probe.ids[inside[-1] + 1 :]

    def to_json(self) -> str:
        """The tokenizer, as in a `tokenizer.json`."""
        found: str = self._tokenizer.to_str()
        return found

    def pieces(self, words: Iterable[str], most: int) -> dict[str, list[int]]:
        """The sub-words of each word, at least one and at most so many.

        Fast tokenizers treat given words one by one, so each distinct word needs to be looked at only once.
        """
        distinct = list(dict.fromkeys(words))
        found: dict[str, list[int]] = {}
        for start in range(0, len(distinct), CHUNK):
            chunk = distinct[start : start + CHUNK]
            found.update(
                (word, own[:most] or [self.unknown]) for word, own in zip(chunk, self._tokenise(chunk), strict=True)
            )
        return found

    def _tokenise(self, words: list[str]) -> list[list[int]]:
        """The sub-words of each word, perhaps none; in lines of many words, since every line costs."""
        words = [_SURROGATES.sub("\ufffd", word) for word in words]
        lines = [words[start : start + LINE] for start in range(0, len(words), LINE)]
        encodings = self._tokenizer.encode_batch(lines, is_pretokenized=True, add_special_tokens=False)
        found: list[list[int]] = [[] for _ in words]
        for number, line in enumerate(encodings):
            for id, word in zip(line.ids, line.word_ids, strict=True):
                assert word is not None  # without special tokens, all is of some word
                found[number * LINE + word].append(id)
        return found
