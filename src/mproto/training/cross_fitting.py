"""Cross-fitting: before the model that is kept, several are trained, each without the mentions of some words.

A model that is trained on the labels of a word learns them by heart, gaps and errors included. So the vocabulary is divided
into parts, and the labels of each part are judged by a model that was not trained on them. All words are then relabelled
(`denoising/relabelling.py`). In the next round, models are trained on these labels, again without a part of the vocabulary
each, and the predictions of all rounds are averaged. The model that is kept learns the labels of the last round, from the
pre-trained weights on.

Labels are learnt with their probabilities, by models that can do so: a doubtful label has a smaller effect, and the scores
of the model tell how sure it is.

A word is held out with all its mentions, labelled or not, so that its labelled mentions are like unlabelled entities.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import one_hot

from mproto.denoising.outlook import Expected, Outlook, compare
from mproto.denoising.relabelling import pool_mentions, relabel
from mproto.denoising.shares import EntityShares, estimate_shares
from mproto.errors import InputError
from mproto.extensions.viterbi import transitions
from mproto.method.prototypes import OTHER
from mproto.models.base import Stage, UsesEstimate, inference
from mproto.text.document import WordSpan
from mproto.text.tagging import encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import Training
    from mproto.models.base import Model
    from mproto.training.data import Data

FOLDS = 4
"""Parts of the vocabulary, and models in a round."""
LENGTH, STEPS = 0.25, 100
"""Length of the training of each of these models, relative to that of the model that is kept, and its maximum in steps. After
longer training, models have learnt by heart that unlabelled entities are O, and find fewer entities that they do not know."""


class CrossFitting:
    """The stages before the training of the model that is kept, and the labels that they lead to.

    Args:
        data: the training data with their distant labels.
        model: the model to train; it must tag words independently.
        settings: the settings of the loop.
        rounds: number of rounds, at least 1.

    After the last round, the predictions also serve to compare the model with the terms alone.

    Attributes:
        relabelled: the training data with the labels of the last round that is done.
    """

    def __init__(self, data: Data, model: Model, settings: Training, rounds: int) -> None:
        self._original = self.relabelled = data
        self._rounds, self._settings = rounds, settings
        self._class_of = torch.tensor(model.class_of_tag)
        self._distant = self._class_of[torch.tensor([tag for tags in data.tags for tag in tags], dtype=torch.long)]
        lengths = torch.tensor([len(tags) for tags in data.tags])
        self._certain = torch.repeat_interleave(torch.tensor(data.certain), lengths)
        self._log_probabilities = torch.zeros(len(self._distant), len(model.labels) + 1)  # the sum over rounds
        self._labels = self._distant
        self._probabilities = one_hot(self._distant, len(model.labels) + 1).float()
        self._shares: EntityShares | None = None
        self._results = torch.zeros(0, dtype=torch.float64)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One stage for each model that is not kept."""
        return (Stage(LENGTH, counts=False, most=STEPS),) * (self._rounds * FOLDS)

    def data(self, stage: int) -> Data:
        """Return the training data of a stage: those of the last round without the words of the stage's part."""
        if stage >= len(self.stages):
            return self.relabelled
        return self.relabelled.without(self._parts(stage // FOLDS) == stage % FOLDS)

    def finish(self, stage: int, model: Model) -> dict[str, float]:
        """Predict the words that were held out in a stage; after the last part of a round, relabel all words.

        Returns:
            For the history: the estimate after the first round, and how many words were relabelled after the last one.
        """
        held_out = (self._parts(stage // FOLDS) == stage % FOLDS)[self._original.flat_words]
        self._log_probabilities[held_out] += model.group.broadcast(self._predict(model)[held_out])
        if (stage + 1) % FOLDS:
            return {}
        predictions = (self._log_probabilities / (stage // FOLDS + 1)).log_softmax(-1)
        logs = self._estimate(predictions, model) if self._shares is None else {}
        last = stage + 1 == len(self.stages)
        self._relabel(predictions, model, last=last)
        return logs | (self._changes() if last else {})

    @property
    def outlook(self) -> Outlook:
        """The expected scores of the model and of the terms."""
        model, both, terms = (Expected(*pair) for pair in self._results.reshape(3, 2).tolist())
        return Outlook(model, both, terms, self._shares is not None and self._shares.is_known)

    def _parts(self, number: int) -> Tensor:
        """Return the part (V,) of each distinct word in a round."""
        return divide_words(self._original.flat_words, FOLDS, self._settings.seed + number)

    def _predict(self, model: Model) -> Tensor:
        """Return the log-probabilities (N, K) of the classes for all words."""
        found = torch.zeros_like(self._log_probabilities)
        with inference(model):
            for indices in self._original.in_order(range(len(self._original.windows)), self._settings):
                batch = self._original.batch(indices)
                by_tag = model.decide(batch.to(model.device)).answers[0].float().exp().cpu()
                by_class = by_tag.new_zeros(len(by_tag), found.shape[1]).index_add_(1, self._class_of, by_tag)
                found[self._original.positions(indices)] = by_class.clamp_min(1e-12).log()
        return found

    def _estimate(self, predictions: Tensor, model: Model) -> dict[str, float]:
        """Estimate the shares of entities among the words without human labels, and return them for the history."""
        unsure = ~self._certain
        pooled = pool_mentions(predictions, self._original.flat_words)
        self._shares = shares = estimate_shares(pooled[unsure], self._distant[unsure])
        logs = {"unlabelled": shares.unlabelled, "unlabelled.low": shares.low, "unlabelled.high": shares.high}
        by_type = zip(model.labels, shares.classes[1:].tolist(), strict=True)
        return logs | {f"share.{label}": share for label, share in by_type}

    def _relabel(self, predictions: Tensor, model: Model, *, last: bool) -> None:
        assert self._shares is not None
        unsure = ~self._certain
        distant, predictions = self._distant[unsure], predictions[unsure]
        lengths = [
            len(tags) for tags, certain in zip(self._original.tags, self._original.certain, strict=True) if not certain
        ]
        change = transitions([part.tolist() for part in torch.split(distant, lengths)], len(model.labels) + 1)
        words = self._original.flat_words[unsure]
        found = relabel(predictions, distant, words, self._shares.classes, lengths, change)
        self._labels = self._distant.masked_scatter(unsure, found.labels)
        self._probabilities[unsure] = found.probability.float()
        self._use_labels(model)
        if last:
            outlook = compare(found.probability, distant, found.labels, is_known=self._shares.is_known)
            scores = [number for way in (outlook.model, outlook.both, outlook.terms) for number in way]
            self._results = torch.tensor(scores, dtype=torch.float64)

    def _changes(self) -> dict[str, float]:
        """Return how many O words became entities, and how many labelled words became O or got another type."""
        before, after = self._distant, self._labels
        added, removed = (before == OTHER) & (after != OTHER), (before != OTHER) & (after == OTHER)
        retyped = (before != OTHER) & (after != OTHER) & (before != after)
        counts = {"added": added, "removed": removed, "retyped": retyped}
        return {f"relabelled.{name}": float(words.sum()) for name, words in counts.items()}

    def _use_labels(self, model: Model) -> None:
        by_document = torch.split(self._labels, [len(tags) for tags in self._original.tags])
        tags = [
            before if certain else tag_numbers(classes.tolist(), model)
            for before, certain, classes in zip(self._original.tags, self._original.certain, by_document, strict=True)
        ]
        self.relabelled = replace(self._original, tags=tags, probabilities=self._probabilities)

    def state(self) -> dict[str, Tensor]:
        """Return what is needed to resume: predictions and labels so far, and the estimate."""
        state = {
            "log_probabilities": self._log_probabilities,
            "labels": self._labels,
            "probabilities": self._probabilities,
            "results": self._results,
        }
        if self._shares:
            numbers = torch.tensor([self._shares.unlabelled, self._shares.low, self._shares.high], dtype=torch.float64)
            state |= {"classes": self._shares.classes, "unlabelled": numbers}
        return state

    def restore(self, state: Mapping[str, Tensor], model: Model) -> None:
        """Restore what `state` returned."""
        self._log_probabilities, self._labels = state["log_probabilities"], state["labels"]
        self._probabilities, self._results = state["probabilities"], state["results"]
        if "classes" in state:
            unlabelled, low, high = state["unlabelled"].tolist()
            self._shares = EntityShares(unlabelled, low, high, state["classes"])
            self._use_labels(model)


def find_cross_fitting(data: Data, model: Model, config: Config) -> CrossFitting | None:
    """Return the cross-fitting that the settings ask for; none if humans labelled all documents.

    Raises:
        InputError: the method does not tag words one by one, or it has a hold-out phase.
    """
    asked = config.training.cross_fitting
    rounds = model.cross_fitting_rounds if asked == "auto" else asked
    if not rounds or all(data.certain):
        return None
    if not model.by_word:
        raise InputError(
            f"training.cross_fitting is {rounds}, but the method {config.method} does not tag words one by one",
            hint="set training.cross_fitting=0, or choose another method",
        )
    if isinstance(model, UsesEstimate) and model.hold_out_share:
        raise InputError(
            f"training.cross_fitting is {rounds}, but the method {config.method} has a hold-out phase, "
            "which estimates the share of unlabelled entities, too",
            hint="set training.cross_fitting=0, or give mproto.beta or positive_unlabelled.priors values",
        )
    return CrossFitting(data, model, config.training, rounds)


def divide_words(words: Tensor, parts: int, seed: int) -> Tensor:
    """Return the part (V,) of each distinct word. Parts have as many frequent words as rare ones.

    Args:
        words: (N,) long, the ids of all words.
        parts: the number of parts.
        seed: random seed.
    """
    order = torch.bincount(words).argsort(descending=True, stable=True)
    generator = torch.Generator().manual_seed(seed)
    part = torch.empty_like(order)
    for group in torch.split(order, parts):
        part[group] = torch.randperm(parts, generator=generator)[: len(group)]
    return part


def tag_numbers(classes: Sequence[int], model: Model) -> list[int]:
    """Return the tag number of each word of a document, given its class. A run of words of one class is one entity."""
    if model.scheme == "io":
        return list(classes)
    numbers = {tag: number for number, tag in enumerate(model.tags)}
    return [numbers[tag] for tag in encode(_runs(classes, model.labels), len(classes), model.scheme)]


def _runs(classes: Sequence[int], labels: Sequence[str]) -> list[WordSpan]:
    """Return the maximal runs of words of one class, as spans."""
    spans, start = [], 0
    for end in range(1, len(classes) + 1):
        if end == len(classes) or classes[end] != classes[start]:
            if classes[start]:
                spans.append(WordSpan(start, end, labels[classes[start] - 1]))
            start = end
    return spans
