"""Split documents into windows, the inputs of an encoder.

Each word belongs to exactly one window. A document longer than a window is split at sentence ends.
A sentence longer than a window is split between words; each part then also holds a few words of the
parts next to it as context. Context words belong to another window and get no feature here.
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
        document: the index of its document.
        start: the index in the document of the first word that belongs to the window; the others
            follow it.
        input_ids: the sub-word ids, with special tokens and context.
        firsts: for each word that belongs to the window, the position of its first sub-word in
            `input_ids`.
        shapes: for each sub-word, the shape of its word (`shapes.py`).
    """

    document: int
    start: int
    input_ids: list[int]
    firsts: list[int]
    shapes: list[int]


def make_windows(
    documents: Sequence[Sequence[str]], tokens: Tokens, window: int, context: int = CONTEXT
) -> list[Window]:
    """Return the windows of all documents, in order. An empty document has none.

    No word is dropped. A word without sub-words (for example control characters) gets the unknown
    sub-word. A word longer than a window is truncated.

    Args:
        documents: the words of each document.
        tokens: the tokenizer.
        window: the maximum number of sub-words in an input, special tokens included.
        context: the maximum number of context sub-words on each side where a sentence is split. It
            is limited to a quarter of the window.
    """
    before, after = tokens.before, tokens.after
    capacity = window - len(before) - len(after)
    if capacity < 1 or context < 0:
        raise ValueError(f"a window of {window} sub-words with {context} of context has no room for a word")
    context = min(context, capacity // 4)
    pieces = tokens.pieces(chain.from_iterable(documents), capacity)
    shapes = {word: [int(shape_of(word))] * len(ids) for word, ids in pieces.items()}
    windows = []
    for document, words in enumerate(documents):
        parts = [pieces[word] for word in words]
        edges = [0, *accumulate(map(len, parts))]  # word boundaries, counted in sub-words of the document
        ends = sentence_ends(words) if edges[-1] > capacity else []
        for first, start, stop, last in _split(edges, ends, capacity, context):
            ids = [*before, *chain.from_iterable(parts[first:last]), *after]
            word_shapes = chain.from_iterable(shapes[word] for word in words[first:last])
            shift = len(before) - edges[first]
            firsts = [edge + shift for edge in edges[start:stop]]
            windows.append(
                Window(
                    document,
                    start,
                    ids,
                    firsts,
                    [*[Shape.NONE] * len(before), *word_shapes, *[Shape.NONE] * len(after)],
                )
            )
    return windows


def _split(edges: list[int], ends: list[int], capacity: int, context: int) -> Iterator[tuple[int, int, int, int]]:
    """Split a document into parts.

    Args:
        edges: (n + 1) the sub-word index where each word starts, then the total; no word is longer
            than `capacity`.
        ends: the sentence ends, as ascending word indices.
        capacity: the maximum number of sub-words in a part, context included.
        context: the maximum number of context sub-words on each side where a part starts or ends
            inside a sentence.

    Yields:
        Half-open word ranges (first, start, stop, last): the part owns the words from start to
        stop, and with its context it holds the words from first to last.
    """
    count = len(edges) - 1
    start, whole = 0, True  # whole: a sentence starts at `start`
    while start < count:
        first = start
        room = 0 if whole else min(context, capacity - (edges[start + 1] - edges[start]))
        while first > 0 and edges[start] - edges[first - 1] <= room:
            first -= 1
        limit = edges[first] + capacity
        fits = bisect_right(edges, limit) - 1  # the number of words up to the limit
        ended = bisect_right(ends, fits) - 1  # the last sentence end up to there
        whole = fits == count or (ended >= 0 and ends[ended] > start)
        if whole:
            stop = last = count if fits == count else ends[ended]
        else:
            stop = max(start + 1, bisect_right(edges, limit - context) - 1)
            last = max(stop, bisect_right(edges, min(limit, edges[stop] + context)) - 1)
        yield first, start, stop, last
        start = stop
