"""Split words into sub-words.

Needs only the tokenizers library, so exported models run without transformers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable

CHUNK = 10_000
"""The number of words in one call of the tokenizer, which holds all its results in memory."""
LINE = 100
"""The number of words in one input line of the tokenizer."""
_SURROGATES = re.compile("[\ud800-\udfff]")  # the tokenizers library rejects text that UTF-8 cannot encode


class Tokens:
    """An encoder's tokenizer, applied to single words.

    Args:
        tokenizer: the tokenizer; it is copied.
        unknown: the id of the sub-word for words that have none.
        pad: the id of the padding sub-word.

    Attributes:
        before, after: the ids of the special tokens that start and end an input.
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
        """Return the tokenizer in the format of `tokenizer.json`."""
        content: str = self._tokenizer.to_str()
        return content

    def pieces(self, words: Iterable[str], max_pieces: int) -> dict[str, list[int]]:
        """Return the sub-word ids of each distinct word, at least one and at most `max_pieces`.

        Fast tokenizers treat pre-split words independently of each other, so each distinct word is
        tokenised only once.
        """
        distinct = list(dict.fromkeys(words))
        pieces: dict[str, list[int]] = {}
        for start in range(0, len(distinct), CHUNK):
            chunk = distinct[start : start + CHUNK]
            pieces.update(
                (word, ids[:max_pieces] or [self.unknown])
                for word, ids in zip(chunk, self._tokenise(chunk), strict=True)
            )
        return pieces

    def _tokenise(self, words: list[str]) -> list[list[int]]:
        """Return the sub-word ids of each word, possibly none.

        Each line holds many words, since every line has a cost.
        """
        words = [_SURROGATES.sub("\ufffd", word) for word in words]
        lines = [words[start : start + LINE] for start in range(0, len(words), LINE)]
        encodings = self._tokenizer.encode_batch(lines, is_pretokenized=True, add_special_tokens=False)
        pieces: list[list[int]] = [[] for _ in words]
        for number, line in enumerate(encodings):
            for id, word in zip(line.ids, line.word_ids, strict=True):
                assert word is not None  # without special tokens, every sub-word belongs to a word
                pieces[number * LINE + word].append(id)
        return pieces
