"""From a file to scores: what the command `evaluate` does. Exported models need no torch for it."""

from __future__ import annotations

from itertools import tee
from typing import TYPE_CHECKING

from mproto.text.formats import Options, detect, get_format
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
    """The scores of a model on labelled documents; human labels count where there are distant ones too."""
    scorer = Scorer(terms)
    reader = get_format(read_format) if read_format else detect(source)
    gold, again = tee(document.with_gold() for document in reader.read(source, options))
    predicted = recognizer.predict((document.bare() for document in again), batch_size=batch_size)
    found = any_gold = False
    for right, guess in zip(gold, predicted, strict=True):
        found, any_gold = True, any_gold or bool(right.spans)
        scorer.add(right.text, right.spans, guess.spans)
    if not found or not any_gold:
        raise source.error(
            "holds no labelled entity to compare with" if found else "holds no document",
            hint="name a corpus with human labels",
        )
    return scorer.scores(bootstrap=bootstrap, seed=seed)
