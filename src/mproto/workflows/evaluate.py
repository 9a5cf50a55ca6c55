"""Score a model on a file: the work of `mproto evaluate`.

For exported models, this does not need torch.
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
        source: the documents. If a document has human and distant labels, the human labels count.
        terms: terms of a gazetteer, for separate scores on entities that are in it and entities
            that are not.
        read_format: the format of the file; detected from its content if not given.
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
    any_document = any_gold = False
    for expected, actual in zip(gold, predicted, strict=True):
        any_document, any_gold = True, any_gold or bool(expected.spans)
        scorer.add(expected.text, expected.spans, actual.spans)
    if not any_document or not any_gold:
        raise source.error(
            "contains no labelled entity to compare with" if any_document else "contains no document",
            hint="name a human-labelled corpus",
        )
    return scorer.scores(bootstrap=bootstrap, seed=seed)
