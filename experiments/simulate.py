"""Simulate term lists from a labelled corpus, so that a recipe can be tried on many data sets.

    python -m experiments.simulate wikigold --share 0.3 --output /tmp/wikigold-0.3

The list has a random share of the distinct terms of each type that humans labelled in the training
documents. Of two terms, the more frequent one is more likely to be listed, as in real lists. A few
entries are wrong: terms of another type, and frequent words that are not in any entity. The list
labels the training documents; the human labels stay beside as `gold`, for analysis alone.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cells import documents, require_data
from mproto import Entry, Gazetteer, annotate, write_documents
from mproto.gazetteer import write_gazetteer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto import Document

SHARES = (0.1, 0.3, 0.6)
WRONG = 0.03
"""Wrong entries, as a share of the right ones; half of them are words outside of entities."""
BIAS = 0.5
"""A term's chance to be listed grows with this power of its number of mentions."""
RANKS = (200, 3000)
"""Wrong entries are drawn from words outside of entities with these ranks by frequency. Nobody would list `with`."""


def simulated_gazetteer(corpus: Sequence[Document], share: float, seed: int = 0) -> Gazetteer:
    """Return a term list with a share of the distinct terms of a corpus with human labels.

    Args:
        corpus: documents with gold spans.
        share: of the distinct terms of each type; at least one term is listed.
        seed: of the choice.
    """
    generator = random.Random(seed)
    mentions: dict[str, Counter[str]] = defaultdict(Counter)
    outside: Counter[str] = Counter()
    for document in corpus:
        inside = set()
        for start, end, label in document.gold_word_spans or ():
            inside.update(range(start, end))
            mentions[label][" ".join(document.word_texts[start:end])] += 1
        outside.update(word for i, word in enumerate(document.word_texts) if i not in inside and word.isalpha())
    entries = []
    for label, counts in sorted(mentions.items()):
        listed = _draw(counts, max(1, round(share * len(counts))), generator)
        others = sorted(set().union(*(c for other, c in mentions.items() if other != label)) - set(counts))
        wrong = round(WRONG * len(listed))
        words = [word for word, _ in outside.most_common(RANKS[1])[RANKS[0] :] if len(word) > 3 and word not in counts]
        listed += generator.sample(others, min(wrong // 2, len(others)))
        listed += generator.sample(words, min(wrong - wrong // 2, len(words)))
        entries += [Entry(surface, label) for surface in listed]
    return Gazetteer(tuple(entries))


def simulate(corpus: Sequence[Document], share: float, seed: int = 0) -> tuple[list[Document], Gazetteer]:
    """Return the corpus labelled by a simulated term list, with human labels as gold, and the list."""
    gazetteer = simulated_gazetteer(corpus, share, seed)
    gold = [document.with_spans((), document.gold or ()) for document in corpus]
    return list(annotate(gold, gazetteer)), gazetteer


def _draw(counts: Counter[str], size: int, generator: random.Random) -> list[str]:
    """Draw distinct terms, the frequent ones more likely (weighted sampling without replacement)."""
    keys = {term: generator.random() ** (1 / count**BIAS) for term, count in sorted(counts.items())}
    return sorted(sorted(keys, key=lambda term: -keys[term])[:size])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a data set with human labels, such as wikigold or conll03-fully")
    parser.add_argument("--share", type=float, default=0.3, help="of the distinct terms that are listed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True, help="a new folder: terms/ and train.jsonl")
    parsed = parser.parse_args()
    require_data()
    labelled, gazetteer = simulate(documents(parsed.data, "train"), parsed.share, parsed.seed)
    parsed.output.mkdir(parents=True)
    write_gazetteer(gazetteer, parsed.output / "terms")
    write_documents(labelled, parsed.output / "train.jsonl")
    print(f"{len(gazetteer)} terms label {sum(len(document.spans) for document in labelled)} mentions")


if __name__ == "__main__":
    main()
