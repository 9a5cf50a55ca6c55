"""Cross-fitting: nobody judges what it has learnt by heart.

A model that is trained on the labels of a word learns them by heart, gaps and errors included. So words are judged by models
that were not trained on them, and documents by models that did not see them.

*Judges.* The vocabulary is divided into parts. For each part a model is trained without its words, with labels and without,
and judges them. All words are then relabelled (`denoising/relabelling.py`): some O words become entities, some labels are
doubted, and words that nobody is sure of are left out. In the next round, judges learn these labels; the predictions of all
rounds are averaged.

*The model that is kept.* Several models learn the labels of the last round, each without a part of the text. The weights
that are kept are the mean of theirs. This works because all start from the same pre-trained weights and prototypes (Wortsman
et al., *Model Soups*, 2022). Each model predicts the part that it has not seen. From these predictions follow, without human
labels, the bias and the temperature of the scores, and the comparison with the terms alone (`denoising/outlook.py`).

A word is held out with all its mentions, labelled or not, so that its labelled mentions are like unlabelled entities.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import one_hot

from mproto.denoising.evidence import neighbour_evidence
from mproto.denoising.neighbours import MAX_WORDS, nearest_neighbours
from mproto.denoising.outlook import Expected, Outlook, compare
from mproto.denoising.relabelling import decode, pool_mentions, relabel
from mproto.denoising.shares import EntityShares, estimate_shares
from mproto.errors import InputError
from mproto.extensions.viterbi import transitions
from mproto.method.prototypes import OTHER
from mproto.models.base import Stage, UsesEstimate, inference
from mproto.models.word_embeddings import word_embeddings
from mproto.text.document import WordSpan
from mproto.text.tagging import encode
from mproto.training.calibration import BiasAndTemperature, fit_bias_and_temperature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import Training
    from mproto.denoising.relabelling import Relabelled
    from mproto.models.base import Model
    from mproto.training.data import Data

FOLDS = 4
"""Parts of the vocabulary, and judges in a round."""
LENGTH, STEPS = 0.25, 100
"""Length of the training of a judge, relative to the usual length, and its maximum in steps. After longer training, models
have learnt by heart that unlabelled entities are O, and find fewer entities that they do not know."""
PARTS = 3
"""Parts of the text, and models whose weights are averaged."""
MIN_WINDOWS = 30
"""Minimum number of training windows; smaller texts are not divided."""


class CrossFitting:
    """The judges and their decisions, and the division of the text for the models whose weights are averaged.

    Args:
        data: the training data with their distant labels.
        model: the model to train, with pre-trained weights; it must tag words independently.
        settings: the settings of the loop.
        rounds: number of rounds of judges, at least 1.

    Attributes:
        parts: number of models whose weights are averaged.
        relabelled: the training data with the labels of the last round that is done.
    """

    def __init__(self, data: Data, model: Model, settings: Training, rounds: int) -> None:
        self._original = self.relabelled = data
        self._rounds, self._settings = rounds, settings
        self._classes = len(model.labels) + 1
        self._class_of = torch.tensor(model.class_of_tag)
        self._distant = self._class_of[torch.tensor([tag for tags in data.tags for tag in tags], dtype=torch.long)]
        self._lengths = torch.tensor([len(tags) for tags in data.tags])
        self._unsure = ~torch.repeat_interleave(torch.tensor(data.certain), self._lengths)
        self._neighbours = self._neighbour_evidence(model)
        self._log_probabilities = torch.zeros(len(self._distant), self._classes)  # of the judges, the sum over rounds
        self._unseen = torch.zeros_like(self._log_probabilities)  # of the models whose weights are averaged
        self._probabilities = one_hot(self._distant, self._classes).double()
        self._shares: EntityShares | None = None
        self._results = torch.zeros(0, dtype=torch.float64)
        self._part_of_window = self._divide_text()
        self.parts = int(self._part_of_window.max()) + 1 if len(self._part_of_window) else 1
        self.calibration = BiasAndTemperature()

    def _neighbour_evidence(self, model: Model) -> Tensor:
        """Return the evidence (N, K) of the neighbours of all words; the labels of humans count, too."""
        spellings = self._original.spellings[:MAX_WORDS]
        lowercase = torch.tensor([word[:1].islower() for word in spellings], device=model.device)
        neighbours = nearest_neighbours(word_embeddings(model.encoder, spellings), lowercase)
        found = neighbour_evidence(neighbours, self._original.flat_words, self._distant, self._classes)
        return model.group.broadcast(found.to(model.device)).cpu()

    def _divide_text(self) -> Tensor:
        """Return the part of each window; −1 for documents that humans labelled, which all models learn."""
        windows = self._original.windows
        part = torch.full((len(windows),), -1)
        own = torch.tensor(
            [i for i, window in enumerate(windows) if not self._original.certain[window.document]], dtype=torch.long
        )
        generator = torch.Generator().manual_seed(self._settings.seed)
        order = own[torch.randperm(len(own), generator=generator)]
        part[order] = torch.arange(len(own)) % (PARTS if len(own) >= MIN_WINDOWS else 1)
        return part

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One stage for each judge."""
        return (Stage(LENGTH, counts=False, most=STEPS),) * (self._rounds * FOLDS)

    def data(self, stage: int) -> Data:
        """Return the training data of a judge: those of the last round without the words of the judge's part."""
        return self.relabelled.without(self._fold_of_word(stage // FOLDS) == stage % FOLDS)

    def part(self, number: int) -> Data:
        """Return the training data of one of the models whose weights are averaged: those of all other parts."""
        if self.parts == 1:
            return self.relabelled
        return self.relabelled.only((self._part_of_window != number).nonzero().flatten().tolist())

    def finish(self, stage: int, model: Model) -> dict[str, float]:
        """Let a judge predict its words; after the last judge of a round, relabel all words.

        Returns:
            For the history: the estimate after the first round, and how many words were relabelled after the last one.
        """
        everything = range(len(self._original.windows))
        held_out = (self._fold_of_word(stage // FOLDS) == stage % FOLDS)[self._original.flat_words]
        self._log_probabilities[held_out] += model.group.broadcast(self._predict(model, everything)[held_out])
        if (stage + 1) % FOLDS:
            return {}
        predictions = (self._log_probabilities / (stage // FOLDS + 1)).log_softmax(-1)
        logs = self._estimate(predictions, model) if self._shares is None else {}
        found = self._relabel(predictions, model)
        if stage + 1 < len(self.stages):
            return logs
        if self.parts == 1:
            self._compare(found.labels)
        return logs | self._changes(found)

    def finish_part(self, number: int, model: Model) -> None:
        """Let one of the models whose weights are averaged predict the part that it has not seen."""
        if self.parts == 1:
            return
        own = (self._part_of_window == number).nonzero().flatten().tolist()
        places = self._original.positions(own)
        self._unseen[places] = model.group.broadcast(self._predict(model, own)[places])
        if number + 1 < self.parts:
            return
        unseen, probabilities = self._unseen[self._unsure], self._probabilities[self._unsure]
        self.calibration = fit_bias_and_temperature(unseen, probabilities)
        decided = decode(self.calibration.shift(unseen), self._unsure_lengths, self._transitions())
        self._compare(decided)

    @property
    def outlook(self) -> Outlook:
        """The expected scores of the model and of the terms."""
        model, both, terms = (Expected(*pair) for pair in self._results.reshape(3, 2).tolist())
        return Outlook(model, both, terms, self._shares is not None and self._shares.has_evidence)

    def _fold_of_word(self, number: int) -> Tensor:
        """Return the part (V,) of each distinct word in a round."""
        return divide_words(self._original.flat_words, FOLDS, self._settings.seed + number)

    def _predict(self, model: Model, windows: Sequence[int]) -> Tensor:
        """Return the log-probabilities (N, K) of the classes for the words of some windows; 0 for all others."""
        found = torch.zeros_like(self._log_probabilities)
        with inference(model):
            for indices in self._original.in_order(windows, self._settings):
                batch = self._original.batch(indices)
                by_tag = model.decide(batch.to(model.device)).answers[0].float().exp().cpu()
                by_class = by_tag.new_zeros(len(by_tag), self._classes).index_add_(1, self._class_of, by_tag)
                found[self._original.positions(indices)] = by_class.clamp_min(1e-12).log()
        return found

    def _estimate(self, predictions: Tensor, model: Model) -> dict[str, float]:
        """Estimate the shares of entities among the words without human labels, and return them for the history."""
        pooled = pool_mentions(predictions, self._original.flat_words)
        self._shares = shares = estimate_shares(pooled[self._unsure], self._distant[self._unsure])
        logs = {"unlabelled": shares.unlabelled, "unlabelled.low": shares.low, "unlabelled.high": shares.high}
        by_type = zip(model.labels, shares.classes[1:].tolist(), strict=True)
        return logs | {f"share.{label}": share for label, share in by_type}

    @property
    def _unsure_lengths(self) -> list[int]:
        """The lengths of the documents without human labels."""
        return list(compress(self._lengths.tolist(), (not certain for certain in self._original.certain)))

    def _transitions(self) -> Tensor:
        """Return the transition scores (K, K) of the distant labels."""
        documents = torch.split(self._distant[self._unsure], self._unsure_lengths)
        return transitions([classes.tolist() for classes in documents], self._classes)

    def _relabel(self, predictions: Tensor, model: Model) -> Relabelled:
        assert self._shares is not None
        unsure = self._unsure
        found = relabel(
            predictions[unsure],
            self._neighbours[unsure],
            self._distant[unsure],
            self._original.flat_words[unsure],
            self._shares,
            self._unsure_lengths,
            self._transitions(),
        )
        self._probabilities[unsure] = found.probability
        self._use(found, model)
        return found

    def _compare(self, decided: Tensor) -> None:
        """Compare the words that a model finds with those of the terms.

        Args:
            decided: (N,) long, the classes of the words without human labels.
        """
        probabilities, distant = self._probabilities[self._unsure], self._distant[self._unsure]
        outlook = compare(probabilities, distant, decided)
        scores = [number for way in (outlook.model, outlook.both, outlook.terms) for number in way]
        self._results = torch.tensor(scores, dtype=torch.float64)

    def _changes(self, found: Relabelled) -> dict[str, float]:
        """Return how many O words are learnt as entities, and how many words are left out."""
        added = (self._distant[self._unsure] == OTHER) & (found.labels != OTHER) & ~found.left_out
        return {"relabelled.added": float(added.sum()), "relabelled.left_out": float(found.left_out.sum())}

    def _use(self, found: Relabelled, model: Model) -> None:
        """Change the training data to those after relabelling."""
        self._labels = self._distant.masked_scatter(self._unsure, found.labels)
        self._set_labels(torch.zeros_like(self._unsure).masked_scatter(self._unsure, found.left_out), model)

    def _set_labels(self, left_out: Tensor, model: Model) -> None:
        tags = [
            before if certain else tag_numbers(classes.tolist(), model)
            for before, certain, classes in zip(
                self._original.tags,
                self._original.certain,
                torch.split(self._labels, self._lengths.tolist()),
                strict=True,
            )
        ]
        self.relabelled = replace(self._original, tags=tags, left_out=left_out)

    def state(self) -> dict[str, Tensor]:
        """Return what is needed to resume: predictions and labels so far, and the estimate."""
        state = {
            "log_probabilities": self._log_probabilities,
            "unseen": self._unseen,
            "probabilities": self._probabilities,
            "results": self._results,
        }
        if self._shares:
            assert self.relabelled.left_out is not None
            left_out = self.relabelled.left_out
            state |= {"shares": self._shares.as_tensor(), "labels": self._labels, "left_out": left_out}
        return state

    def restore(self, state: Mapping[str, Tensor], model: Model) -> None:
        """Restore what `state` returned."""
        self._log_probabilities, self._unseen = state["log_probabilities"], state["unseen"]
        self._probabilities, self._results = state["probabilities"], state["results"]
        if "shares" in state:
            self._shares, self._labels = EntityShares.from_tensor(state["shares"]), state["labels"]
            self._set_labels(state["left_out"], model)


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
