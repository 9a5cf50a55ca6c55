"""Words to windows: what an encoder reads at once, and where in it each word's feature lies.

Every word is some window's own exactly once. A text longer than the window is split where a sentence ends. A sentence that
is longer itself is split between words, and each part sees a few of its neighbours' words as context, which give no feature
of their own there.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from mproto.encoding.sentences import sentence_ends
from mproto.encoding.shapes import Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mproto.encoding.tokens import Tokens

CONTEXT = 64


@dataclass(frozen=True, slots=True)
class Window:
    """One input of an encoder.

    Attributes:
        document: which sentence it is from.
        start: the first own word's index in that sentence; the others follow.
        input_ids: its sub-words, special tokens and context included.
        firsts: for each own word, the position of its first sub-word in `input_ids`.
        shapes: for each sub-word, how its word is written (`shapes.py`).
    """

    document: int
    start: int
    input_ids: list[int]
    firsts: list[int]
    shapes: list[int]


def make_windows(
    sentences: Sequence[Sequence[str]], tokens: Tokens, window: int, context: int = CONTEXT
) -> list[Window]:
    """The windows of all sentences, in order; none for an empty sentence.

    A word is never dropped: one that has no sub-word (control characters, say) gets the unknown one, and of one that is
    longer than a whole window only the last sub-words are cut off.

    Args:
        sentences: their words.
        tokens: from words to sub-words.
        window: the most sub-words of an input, special tokens included.
        context: sub-words of neighbouring words on each side, where a sentence is split; at most a quarter of the window.
    """
    before, after = tokens.before, tokens.after
    capacity = window - len(before) - len(after)
    if capacity < 1 or context < 0:
        raise ValueError(f"a window of {window} sub-words with {context} of context has no room for a word")
    context = min(context, capacity // 4)
    pieces = tokens.pieces(chain.from_iterable(sentences), capacity)
    shapes = {word: [int(shape_of(word))] * len(own) for word, own in pieces.items()}
    windows = []
    for document, words in enumerate(sentences):
        parts = [pieces[word] for word in words]
        edges = [0, *accumulate(map(len, parts))]  # of words, in sub-words of the sentence
        ends = sentence_ends(words) if edges[-1] > capacity else []
        for first, start, stop, last in _split(edges, ends, capacity, context):
            ids = [*before, *chain.from_iterable(parts[first:last]), *after]
            written = chain.from_iterable(shapes[word] for word in words[first:last])
            shift = len(before) - edges[first]
            firsts = [edge + shift for edge in edges[start:stop]]
            windows.append(
                Window(
                    document, start, ids, firsts, [*[Shape.NONE] * len(before), *written, *[Shape.NONE] * len(after)]
                )
            )
    return windows


def _split(edges: list[int], ends: list[int], capacity: int, context: int) -> Iterator[tuple[int, int, int, int]]:
    """Parts of a text as words (first, start, stop, last): own words from start to stop, with context first to last.

    Args:
        edges: (n + 1) where each word starts, and the last one ends, in sub-words; no word is longer than `capacity`.
        ends: of sentences, in words, rising.
        capacity: the most sub-words of a part.
        context: the most sub-words of context on each side, where a part begins or ends within a sentence.
    """
    count = len(edges) - 1
    start, whole = 0, True  # whether a sentence begins at the start
    while start < count:
        first = start
        room = 0 if whole else min(context, capacity - (edges[start + 1] - edges[start]))
        while first > 0 and edges[start] - edges[first - 1] <= room:
            first -= 1
        limit = edges[first] + capacity
        fits = bisect_right(edges, limit) - 1  # words up to the limit
        ended = bisect_right(ends, fits) - 1  # sentences
        whole = fits == count or (ended >= 0 and ends[ended] > start)
        if whole:
            stop = last = count if fits == count else ends[ended]
        else:
            stop = max(start + 1, bisect_right(edges, limit - context) - 1)
            last = max(stop, bisect_right(edges, min(limit, edges[stop] + context)) - 1)
        yield first, start, stop, last
        start = stop
