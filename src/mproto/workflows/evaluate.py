"""Score a model on a file: what the command `evaluate` does.

Exported models need no torch for it.
"""

from __future__ import annotations

from itertools import tee
from typing import TYPE_CHECKING

from mproto.text.formats import Options, read_documents
from mproto.text.scoring import Scorer, Scores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.io.sources import Source
    from mproto.recognizer import Recognizer


def evaluate_file(
    recognizer: Recognizer,
    source: Source,
    *,
    terms: Iterable[str] | None = None,
    read_format: str | None = None,
    options: Options = Options(),
    batch_size: int = 64,
    bootstrap: int = 0,
    seed: int = 0,
) -> Scores:
    """Return the scores of a recogniser on labelled documents.

    Args:
        recognizer: the model, with or without a gazetteer.
        source: the documents. Human labels count if a document has distant labels too.
        terms: terms of a gazetteer, for separate scores on entities that are in it and entities
            that are not.
        read_format: detected from the content if not given.
        options: how to read the file.
        batch_size: the number of windows in a batch.
        bootstrap: the number of bootstrap resamples; 0 for no intervals.
        seed: the seed of the resampling.

    Raises:
        InputError: the file cannot be read, or has no labelled entity.
    """
    scorer = Scorer(terms)
    documents = (document.with_gold() for document in read_documents(source, read_format, options))
    gold, again = tee(documents)
    predicted = recognizer.predict((document.bare() for document in again), batch_size=batch_size)
    found = any_gold = False
    for right, guess in zip(gold, predicted, strict=True):
        found, any_gold = True, any_gold or bool(right.spans)
        scorer.add(right.text, right.spans, guess.spans)
    if not found or not any_gold:
        raise source.error(
            "holds no labelled entity to compare with" if found else "holds no document",
            hint="name a human-labelled corpus",
        )
    return scorer.scores(bootstrap=bootstrap, seed=seed)
