"""Labelled documents, prepared once for training: sub-words, windows, tags."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import torch

from mproto.denoising.word_ids import WordIds
from mproto.errors import DataError
from mproto.models.batch import Batch, Window, collate, make_windows, only_words, plan
from mproto.text.tagging import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from mproto.config.settings import Training
    from mproto.models.base import Model
    from mproto.text.document import Document

PREVIEW = 512
"""Number of windows that a model sees before its first step."""


@dataclass(frozen=True)
class Data:
    """The windows of all documents, and the tag of every word.

    Attributes:
        windows: inputs of the encoder.
        tags: number of the tag of each word, by document.
        words: id of each word, by document (`denoising/word_ids.py`).
        spellings: the spelling of each distinct word at its first mention, by id.
        certain: for each document, whether it is human-labelled, so that its O words are not entities.
        pad_id: the sub-word used for padding.
        left_out: (N,) bool, the words that batches leave out, in the order of the documents, or None.
    """

    windows: list[Window]
    tags: list[list[int]]
    words: list[list[int]]
    spellings: list[str]
    certain: list[bool]
    pad_id: int
    left_out: Tensor | None = None

    @classmethod
    def of(cls, distant: Sequence[Document], model: Model, labelled: Sequence[Document] = ()) -> Data:
        """Prepare documents for a model: those with distant labels, then those with human labels.

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
                position = number if number <= len(distant) else number - len(distant)
                name = document.id or f"{'document' if position == number else 'labelled document'} {position}"
                raise DataError(f"{name}: {error}", hint="remove one of the two") from None
        texts = [document.word_texts for document in documents]
        ids = WordIds()
        words = [ids.add(text) for text in texts]
        windows = make_windows(texts, model.encoder.tokens, model.encoder.window)
        return cls(windows, tags, words, ids.spellings, certain, model.encoder.pad_id)

    def labelled_shares(self) -> list[float]:
        """Return the share of labelled mentions of each distinct word, by id."""
        mentions, labelled = [0] * len(self.spellings), [0] * len(self.spellings)
        for words, tags in zip(self.words, self.tags, strict=True):
            for word, tag in zip(words, tags, strict=True):
                mentions[word] += 1
                labelled[word] += tag != 0
        return [part / whole for part, whole in zip(labelled, mentions, strict=True)]

    def usual_length(self, share: float) -> int:
        """Return the number of sub-words that this share of the windows does not exceed."""
        lengths = sorted(len(window.input_ids) for window in self.windows)
        return lengths[min(int(share * len(lengths)), len(lengths) - 1)] if lengths else 0

    def batches(self, settings: Training, generator: torch.Generator) -> list[list[int]]:
        """Return the batches of one epoch in random order, as window numbers."""
        lengths = [len(window.input_ids) for window in self.windows]
        return plan(lengths, batch_size=settings.batch_size, token_budget=settings.token_budget, generator=generator)

    def batch(self, indices: Sequence[int]) -> Batch:
        """Return the labelled batch of these windows."""
        whole = collate([self.windows[i] for i in indices], self.pad_id, self.tags, self.words, self.certain)
        return whole if self.left_out is None else only_words(whole, ~self.left_out[self.positions(indices)])

    def sample(self, settings: Training, generator: torch.Generator) -> Iterator[Batch]:
        """Return sample batches. Half of the windows contain an entity, so that rare types are included."""
        order = torch.randperm(len(self.windows), generator=generator).tolist()
        with_entity = [i for i in order if any(self.own_tags(i))]
        chosen = list(dict.fromkeys([*with_entity[: PREVIEW // 2], *order]))[:PREVIEW]
        return map(self.batch, self.in_order(chosen, settings))

    def without(self, held_out: Tensor) -> Data:
        """Return the same data with batches that also leave out all mentions of some distinct words, (V,) bool."""
        mentions = held_out[self.flat_words]
        return replace(self, left_out=mentions if self.left_out is None else mentions | self.left_out)

    def only(self, kept: Sequence[int]) -> Data:
        """Return the same data with some of the windows, by their numbers."""
        return replace(self, windows=[self.windows[number] for number in kept])

    @cached_property
    def flat_words(self) -> Tensor:
        """The ids of all N words, in the order of the documents."""
        return torch.tensor([word for words in self.words for word in words], dtype=torch.long)

    @cached_property
    def _starts(self) -> list[int]:
        """The position of the first word of each document among all N words."""
        return [0, *accumulate(map(len, self.words))]

    def positions(self, indices: Sequence[int]) -> Tensor:
        """Return the positions of the own words of some windows among all N words."""
        parts = []
        for index in indices:
            window = self.windows[index]
            first = self._starts[window.document] + window.start
            parts.append(torch.arange(first, first + len(window.firsts)))
        return torch.cat(parts)

    def in_order(self, chosen: Sequence[int], settings: Training) -> Iterator[list[int]]:
        """Yield batches of these windows, the longest first."""
        lengths = [len(self.windows[i].input_ids) for i in chosen]
        for indices in plan(lengths, batch_size=settings.batch_size, token_budget=settings.token_budget):
            yield [chosen[index] for index in indices]

    def own_tags(self, index: int) -> list[int]:
        """Return the tags of the window's own words."""
        window = self.windows[index]
        return self.tags[window.document][window.start : window.start + len(window.firsts)]


def label_set(documents: Sequence[Document]) -> tuple[str, ...]:
    """Return the entity types of labelled documents, the most frequent first.

    Raises:
        DataError: there is no document, no entity, or a type called O.
    """
    if not documents:
        raise DataError("there is no document to train on", hint="check the training data")
    counts = Counter(span.label for document in documents for span in document.spans)
    if not counts:
        raise DataError(
            f"the {len(documents):,} training documents have no labelled entity",
            hint="label them with `mproto annotate`, or pass a gazetteer",
        )
    if OUTSIDE in counts:
        raise DataError(
            f"a type of the training documents is called {OUTSIDE}, the tag of words outside of entities",
            hint="rename the type",
        )
    return tuple(sorted(counts, key=lambda label: (-counts[label], label)))
