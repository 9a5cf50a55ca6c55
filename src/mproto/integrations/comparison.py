"""Check that an exported model gives the same results as the original."""

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
"""The minimum share of words that a quantized model must give the same tag. Any other export must
agree on all words."""
MOST_LOST_F1 = 0.01
"""The maximum loss of F1 on human labels for a quantized model."""


class Comparison(NamedTuple):
    """The results of an exported model, compared with those of the original.

    Attributes:
        documents: the number of documents.
        words: the number of words in them.
        same: the number of words with the same tag.
        f1: the F1 of the exported model's entities, with the original's entities as gold.
        original: the F1 of the original on human labels, if there are any.
        exported: the F1 of the exported model on human labels.
    """

    documents: int
    words: int
    same: int
    f1: float
    original: float | None = None
    exported: float | None = None

    @property
    def agreement(self) -> float:
        """The share of words with the same tag."""
        return self.same / max(self.words, 1)

    @property
    def difference(self) -> float | None:
        """The F1 of the exported model minus that of the original, on human labels."""
        return None if self.exported is None or self.original is None else self.exported - self.original

    def check(self, *, exact: bool) -> None:
        """Check that the two agree well enough.

        Args:
            exact: whether all words must have the same tag; `False` for a quantized model.

        Raises:
            MprotoError: they do not agree.
        """
        lost = -(self.difference or 0.0)
        if self.agreement < (1 if exact else LEAST_AGREEMENT) or lost > (0 if exact else MOST_LOST_F1):
            needed = "all of them" if exact else f"at least {LEAST_AGREEMENT:.0%}"
            f1 = f", and the F1 is {100 * lost:.2f} lower" if lost > 0 else ""
            hint = "Please report this." if exact else "Export it without --int8."
            raise MprotoError(
                f"the exported model gives only {self.agreement:.2%} of {self.words:,} words the same tag as the "
                f"original ({needed} should be the same){f1}; nothing was written. {hint}"
            )


def compare(original: Recognizer, exported: Recognizer, documents: Sequence[Document], *, gold: bool) -> Comparison:
    """Tag documents with both models.

    Args:
        original: the original model.
        exported: the exported model.
        documents: documents with words.
        gold: whether the documents have human labels.
    """
    bare = [document.bare() for document in documents]
    (tags, spans), (other_tags, other_spans) = (_tag(recognizer, bare) for recognizer in (original, exported))
    expected = [document.with_gold().spans for document in documents]
    return Comparison(
        len(bare),
        len(tags),
        sum(tags[word] == other_tags[word] for word in tags),
        _f1(bare, spans, other_spans),
        _f1(bare, expected, spans) if gold else None,
        _f1(bare, expected, other_spans) if gold else None,
    )


def _tag(
    recognizer: Recognizer, documents: Sequence[Document]
) -> tuple[dict[tuple[int, int], int], list[tuple[Span, ...]]]:
    """Return the tag of every word (document, index), and the entities of every document."""
    tagged = list(recognizer.predict_words(documents))
    tags: dict[tuple[int, int], int] = {}
    for windows, columns in tagged:
        places = [(window.document, window.start + i) for window in windows for i in range(len(window.firsts))]
        tags.update(zip(places, columns.tags, strict=True))
    found = read_entities(documents, tagged, recognizer.tagger.tags, recognizer.tagger.prototype_names)
    return tags, [tuple(entity.span for entity in entities) for entities in found]


def _f1(documents: Sequence[Document], gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> float:
    scorer = Scorer(None)
    for document, expected, found in zip(documents, gold, predicted, strict=True):
        scorer.add(document.text, expected, found)
    return scorer.scores().overall.f1
