"""Labelled documents, made ready once: sub-words, windows, tags."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from mproto.errors import DataError
from mproto.models.batch import Batch, Window, collate, make_windows, only_words, plan
from mproto.text.tagging import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from mproto.config.settings import Training
    from mproto.models.base import Model
    from mproto.text.document import Document

LOOKED_AT = 512
"""Windows that a model sees before its first step."""


@dataclass(frozen=True)
class Data:
    """Windows of all documents, and the tag of every word.

    Attributes:
        windows: what the encoder reads.
        tags: the numbers of the tags, by document and word.
        words: a number for every word, by document and place; the same for the same word, but another where it begins with
            a small letter and elsewhere with a capital: `bank`, and `Bank` or `BANK`.
        spellings: how each word, by its number, is written where it first stands.
        certain: for every document, whether a person labelled it: what has no label there is no entity.
        pad_id: the sub-word that fills up batches.
        aside: (V,) bool, for every word by its number, whether batches lack it, or none.
    """

    windows: list[Window]
    tags: list[list[int]]
    words: list[list[int]]
    spellings: list[str]
    certain: list[bool]
    pad_id: int
    aside: Tensor | None = None

    @classmethod
    def of(cls, distant: Sequence[Document], model: Model, labelled: Sequence[Document] = ()) -> Data:
        """Make documents ready for a model: those with distant labels, then those that people labelled.

        Raises:
            DataError: spans of a document share a word.
        """
        tags = []
        certain = [False] * len(distant) + [True] * len(labelled)
        documents = [*distant, *labelled]
        for number, document in enumerate(documents, 1):
            try:
                tags.append(model.tag_numbers(document))
            except ValueError as error:
                own = number if number <= len(distant) else number - len(distant)
                name = document.id or f"{'document' if own == number else 'labelled document'} {own}"
                raise DataError(f"{name}: {error}", hint="leave one of the two out") from None
        texts = [document.word_texts for document in documents]
        words, spellings = _number_words(texts)
        windows = make_windows(texts, model.encoder.tokens, model.encoder.window)
        return cls(windows, tags, words, spellings, certain, model.encoder.pad_id)

    def labelled_shares(self) -> list[float]:
        """The share of each word's mentions that has a label, by number."""
        mentions, labelled = [0] * len(self.spellings), [0] * len(self.spellings)
        for words, tags in zip(self.words, self.tags, strict=True):
            for word, tag in zip(words, tags, strict=True):
                mentions[word] += 1
                labelled[word] += tag != 0
        return [part / whole for part, whole in zip(labelled, mentions, strict=True)]

    def usual_length(self, share: float) -> int:
        """The sub-words that this share of the windows have at most."""
        lengths = sorted(len(window.input_ids) for window in self.windows)
        return lengths[min(int(share * len(lengths)), len(lengths) - 1)] if lengths else 0

    def batches(self, settings: Training, generator: torch.Generator) -> list[list[int]]:
        """One epoch's batches of windows, in random order."""
        lengths = [len(window.input_ids) for window in self.windows]
        return plan(lengths, batch_size=settings.batch_size, token_budget=settings.token_budget, generator=generator)

    def batch(self, indices: Sequence[int]) -> Batch:
        whole = collate([self.windows[i] for i in indices], self.pad_id, self.tags, self.words, self.certain)
        return whole if self.aside is None else only_words(whole, ~self.aside[whole.words])

    def sample(self, settings: Training, generator: torch.Generator) -> Iterator[Batch]:
        """Some batches, half of them of windows with an entity, so that rare types are seen too."""
        order = torch.randperm(len(self.windows), generator=generator).tolist()
        with_entity = [i for i in order if any(self.own_tags(i))]
        chosen = list(dict.fromkeys([*with_entity[: LOOKED_AT // 2], *order]))[:LOOKED_AT]
        return map(self.batch, self.in_order(chosen, settings))

    def without(self, aside: Tensor) -> Data:
        """The same documents; of these words, (V,) bool, nothing is learnt."""
        return replace(self, aside=aside)

    def in_order(self, chosen: Sequence[int], settings: Training) -> Iterator[list[int]]:
        """Batches of these windows, the longest first."""
        lengths = [len(self.windows[i].input_ids) for i in chosen]
        for places in plan(lengths, batch_size=settings.batch_size, token_budget=settings.token_budget):
            yield [chosen[place] for place in places]

    def own_tags(self, index: int) -> list[int]:
        """The tags of a window's own words."""
        window = self.windows[index]
        return self.tags[window.document][window.start : window.start + len(window.firsts)]


def _number_words(texts: Sequence[Sequence[str]]) -> tuple[list[list[int]], list[str]]:
    """A number for every word, by document and place; and how each is written where it first stands, by number."""
    numbers: dict[tuple[str, bool], int] = {}
    spellings: list[str] = []
    words: list[list[int]] = []
    for own in texts:
        words.append([])
        for text in own:
            number = numbers.setdefault((text.casefold(), text[:1].islower()), len(numbers))
            if number == len(spellings):
                spellings.append(text)
            words[-1].append(number)
    return words, spellings


def label_set(documents: Sequence[Document]) -> tuple[str, ...]:
    """The entity types of labelled documents, the most frequent first.

    Raises:
        DataError: there is no document, or no entity in them, or a type that is called O.
    """
    if not documents:
        raise DataError("there is no document to train on", hint="check the training data")
    counts = Counter(span.label for document in documents for span in document.spans)
    if not counts:
        raise DataError(
            f"the {len(documents):,} training documents have no labelled entity",
            hint="label them with mproto annotate, or pass --gazetteer",
        )
    if OUTSIDE in counts:
        raise DataError(
            f"a type of the training documents is called {OUTSIDE}, like the words that are no entity",
            hint="call it something else",
        )
    return tuple(sorted(counts, key=lambda label: (-counts[label], label)))
