"""Documents that training does not see, and how good a model is on them as far as the dictionary can tell.

The dictionary knows some of the entities in them. What else a model finds there may be right or wrong. What can be told:

- how many of the known mentions it finds, of terms that it learnt from (*visible*) and of terms that were hidden from it,
  which stand for all those that the dictionary lacks (*hidden*);
- how much it finds altogether.

With recall r and the rate q at which entities are predicted, r² / q is precision times recall up to a factor that no model
changes (Lee and Liu, *Learning with Positive and Unlabeled Examples Using Weighted Logistic Regression*, 2003). Finding
everything, and finding little, both score low.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mproto.text.scoring import score
from mproto.training.terms import hide_terms, term, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.recognizer import Recognizer
    from mproto.text.document import Document

ASIDE_SHARE = 0.1
"""Of the documents."""


@dataclass(frozen=True)
class HeldOut:
    """Documents with distant spans, taken apart.

    Attributes:
        training: to learn from; where terms are hidden, their mentions have no label there.
        aside: not to learn from, with all labels.
        hidden: the hidden terms.
    """

    training: list[Document]
    aside: list[Document]
    hidden: frozenset[str]

    @classmethod
    def of(cls, documents: Sequence[Document], seed: int, *, hide: bool, labelled: Sequence[Document] = ()) -> HeldOut:
        """Take a tenth of the documents aside; with `hide`, hide some terms in the others, but none that is `labelled`."""
        places = set(random.Random(seed).sample(range(len(documents)), round(ASIDE_SHARE * len(documents))))
        training = [document for i, document in enumerate(documents) if i not in places]
        aside = [document for i, document in enumerate(documents) if i in places]
        told = {term(document, span) for document in labelled for span in document.spans}
        hidden = hide_terms(documents, seed) - told if hide else frozenset()
        return cls([without(document, hidden) for document in training], aside, hidden)

    def agreement(self, recognizer: Recognizer) -> float:
        """Strict F1 against the dictionary's labels. A model that finds what the dictionary lacks pays for it."""
        return score(zip(self.aside, self._predicted(recognizer), strict=True)).overall.f1

    def score(self, recognizer: Recognizer) -> float:
        """r² / q, where r is the mean of the recall of visible and of hidden terms, and q the rate of predictions."""
        found, known = {True: 0, False: 0}, {True: 0, False: 0}
        predictions = 0
        for document, guess in zip(self.aside, self._predicted(recognizer), strict=True):
            predictions += len(guess.spans)
            for span in document.spans:
                is_hidden = term(document, span) in self.hidden
                known[is_hidden] += 1
                found[is_hidden] += span in guess.spans
        recalls = [found[kind] / known[kind] for kind in known if known[kind]]
        recall = sum(recalls) / max(len(recalls), 1)
        return recall**2 * sum(known.values()) / max(predictions, 1)

    def _predicted(self, recognizer: Recognizer) -> list[Document]:
        return list(recognizer.predict([document.bare() for document in self.aside]))
