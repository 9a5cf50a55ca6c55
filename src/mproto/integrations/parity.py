"""Whether an exported model says what the original says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mproto.errors import MprotoError
from mproto.inference.entities import read_entities
from mproto.text.scoring import Scorer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.recognizer import Recognizer
    from mproto.text.document import Document, Span

LEAST_AGREEMENT = 0.98
"""Of the words' labels, for models with rounded weights; others must agree on every word."""
MOST_LOST = 0.01
"""Of the F1, where people labelled the documents."""


class Parity(NamedTuple):
    """How an exported model compares with the original.

    Attributes:
        documents: that were read.
        words: in them.
        same: words with the same label.
        f1: of the exported model's entities, with the original's for right.
        original: the F1 of the original on the labels of people, where there are any.
        exported: that of the exported one.
    """

    documents: int
    words: int
    same: int
    f1: float
    original: float | None = None
    exported: float | None = None

    @property
    def agreement(self) -> float:
        """The share of words with the same label."""
        return self.same / max(self.words, 1)

    @property
    def difference(self) -> float | None:
        """How much F1 the exported model has more."""
        return None if self.exported is None or self.original is None else self.exported - self.original

    def check(self, *, exact: bool) -> None:
        """See to it that the two agree well enough.

        Raises:
            MprotoError: they do not.
        """
        lost = -(self.difference or 0.0)
        if self.agreement < (1 if exact else LEAST_AGREEMENT) or lost > (0 if exact else MOST_LOST):
            needed = "all of them" if exact else f"at least {LEAST_AGREEMENT:.0%}"
            f1 = f", and the F1 is {100 * lost:.2f} lower" if lost > 0 else ""
            hint = "Please report this." if exact else "Export it without --int8."
            raise MprotoError(
                f"the exported model gives {self.agreement:.2%} of {self.words:,} words the label that the original gives "
                f"({needed} should be the same){f1}; nothing was written. {hint}"
            )


def compare(original: Recognizer, exported: Recognizer, documents: Sequence[Document], *, gold: bool) -> Parity:
    """Read documents with both.

    Args:
        original: the model.
        exported: what was made of it.
        documents: with words.
        gold: whether people labelled them.
    """
    bare = [document.bare() for document in documents]
    (labels, spans), (other_labels, other_spans) = (_read(recognizer, bare) for recognizer in (original, exported))
    right = [document.by_people().spans for document in documents]
    return Parity(
        len(bare),
        len(labels),
        sum(labels[word] == other_labels[word] for word in labels),
        _f1(bare, spans, other_spans),
        _f1(bare, right, spans) if gold else None,
        _f1(bare, right, other_spans) if gold else None,
    )


def _read(
    recognizer: Recognizer, documents: Sequence[Document]
) -> tuple[dict[tuple[int, int], int], list[tuple[Span, ...]]]:
    """The tag of every word, and the entities of every document."""
    tagged = list(recognizer.predict_words(documents))
    tags: dict[tuple[int, int], int] = {}
    for windows, said in tagged:
        places = [(window.document, window.start + i) for window in windows for i in range(len(window.firsts))]
        tags.update(zip(places, said.tags, strict=True))
    found = read_entities(documents, tagged, recognizer.tagger.tags, recognizer.tagger.prototype_names)
    return tags, [tuple(entity.span for entity in entities) for entities in found]


def _f1(documents: Sequence[Document], right: Sequence[Sequence[Span]], found: Sequence[Sequence[Span]]) -> float:
    scorer = Scorer(None)
    for document, expected, guess in zip(documents, right, found, strict=True):
        scorer.add(document.text, expected, guess)
    return scorer.scores().overall.f1
