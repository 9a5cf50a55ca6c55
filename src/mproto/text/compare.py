"""Score one file against another."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from mproto.text.formats.base import Options
from mproto.text.formats.registry import read_documents
from mproto.text.scoring import Scores, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.inputs import Source
    from mproto.text.document import Document


def score_files(
    gold: Source,
    predicted: Source,
    *,
    format: str | None = None,
    options: Options = Options(),  # noqa: B008
    terms: Iterable[str] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Scores:
    """Scores of two files with the same documents in the same order.

    Human labels that the gold file keeps beside distant ones are the gold ones.

    Raises:
        InputError: the files cannot be read, or do not hold the same texts.
    """
    pairs = _pairs(gold, predicted, format, options)
    return score(pairs, terms=terms, bootstrap=bootstrap, seed=seed)


def _pairs(
    gold: Source, predicted: Source, format: str | None, options: Options
) -> Iterator[tuple[Document, Document]]:
    documents = zip_longest(read_documents(gold, format, options), read_documents(predicted, format, options))
    for number, (right, guess) in enumerate(documents, 1):
        if right is None or guess is None:
            short = gold if right is None else predicted
            raise short.error(
                f"ends after {number - 1} documents, before the other file", hint="score the same documents"
            )
        if right.text != guess.text:
            raise predicted.error(
                f"document {number} is {guess.text[:60]!r} here and {right.text[:60]!r} in {gold.path}",
                hint="both files must hold the same documents in the same order",
            )
        yield right if right.gold is None else replace(right, spans=right.gold), guess
