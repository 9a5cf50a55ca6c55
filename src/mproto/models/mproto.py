"""The paper's model: an encoder, and several prototypes for each class."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import torch
from torch import nn

from mproto.denoising.estimate import UNKNOWN_SHARE
from mproto.denoising.neighbours import MOST_WORDS, explained, find_kin, labelled_kin
from mproto.denoising.threshold import EARLY, LabelledKin, entity_probability, threshold, too_doubtful
from mproto.denoising.word_memory import WordMemory
from mproto.errors import InputError
from mproto.extensions.viterbi import most_likely, transitions
from mproto.method.assignment import Transport, assign
from mproto.method.losses import class_cross_entropy, compactness, labelled_weights, prototype_cross_entropy
from mproto.method.prototypes import OTHER, PrototypeBank
from mproto.models.base import Decisions, Model, Prediction, Step
from mproto.models.word_embeddings import word_embeddings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import MProto
    from mproto.denoising.estimate import Shares
    from mproto.method.assignment import Assignment
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder

SCORE_TEMPERATURE = 0.05
"""Turns similarities into probabilities of classes: for users, where it changes no decision, and for doubt."""


LEAST_BETA = 0.5
"""The least that an estimate may make β."""


class MProtoModel(Model):
    """Words are tagged with the class of the nearest prototype (IO tags, which are the classes)."""

    calibration = 2.0  # between what suits the development data of BC5CDR and of CoNLL03; experiments/LOG.md

    def __init__(self, encoder: Encoder, labels: Iterable[str], settings: MProto) -> None:
        super().__init__(encoder, labels, "io")
        self.settings = settings
        self.dropout = nn.Dropout(settings.dropout)
        self.bank = PrototypeBank([settings.prototypes] * len(self.tags), encoder.hidden_size)
        self.log_temperature = nn.Parameter(
            torch.tensor(log(settings.temperature)), requires_grad=settings.learn_temperature
        )
        beta = 1 - UNKNOWN_SHARE if settings.beta == "auto" else settings.beta
        self.beta: Tensor
        self.register_buffer("beta", torch.tensor(beta, dtype=torch.float64))
        self.change: Tensor
        self.register_buffer("change", torch.zeros(len(self.tags), len(self.tags)))
        self.memory = WordMemory(len(self.bank.class_of))
        self.kin = LabelledKin()
        self.threshold: Tensor | None = None  # of doubt, in the last step
        self.price = settings.price
        self.transport = Transport(settings.solver, settings.epsilon, settings.iterations)

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> MProtoModel:
        settings = config.mproto
        if settings.denoise and settings.beta == "auto" and not 0 < settings.denoise_after < 1:
            raise InputError(
                f"mproto.beta is auto, and mproto.denoise_after is {settings.denoise_after}: there is no time to estimate it",
                hint="choose a value between 0 and 1, such as 0.2, or give β a number",
            )
        return cls(encoder, labels, settings)

    @property
    def rehearsal_share(self) -> float:
        return self.settings.denoise_after if self.settings.denoise and self.settings.beta == "auto" else 0.0

    def learn_unlabelled(self, shares: Shares) -> None:
        """Leave out what is doubtful."""
        self.beta.fill_(max(1 - shares.doubtful, LEAST_BETA))

    def learn_order(self, tags: Iterable[Sequence[int]]) -> None:
        if self.settings.together:
            self.change.copy_(transitions(tags, len(self.tags)))

    def learn_words(self, words: Sequence[str], labelled: Sequence[float]) -> None:
        settings = self.settings
        if not (settings.denoise and settings.solver == "threshold" and settings.kin):
            return
        first = words[:MOST_WORDS]
        small = torch.tensor([word[:1].islower() for word in first], device=self.device)
        found = find_kin(word_embeddings(self.encoder, first), small)
        if found is None:
            return
        shares = torch.tensor(labelled[: len(first)], device=self.device, dtype=found.weights.dtype)
        mine = labelled_kin(found, shares) * (self.group.rank == 0)  # the first one's: devices may round differently
        expected = self.group.sum(mine)
        share = explained(expected, shares) if settings.kin == "auto" else settings.kin
        share = self.group.sum(torch.tensor(share * (self.group.rank == 0), dtype=torch.float64)).item()
        self.kin.learn(expected, share)

    @property
    def prototype_names(self) -> tuple[str, ...]:
        """`O-1`, `O-2`, …, `Disease-1`, … for each row of the bank."""
        classes = zip(("O", *self.labels), self.bank.sizes, strict=True)
        return tuple(f"{name}-{number}" for name, size in classes for number in range(1, size + 1))

    @torch.no_grad()
    def start(self, batches: Iterator[Batch], generator: torch.Generator) -> None:
        if self.settings.start == "random":
            self.bank.start_at_random(generator)
            return
        seen = [(self.encoder(batch).cpu(), batch.labels.cpu()) for batch in batches if batch.labels is not None]
        features, labels = map(torch.cat, zip(*seen, strict=True))
        self.bank.start_from(features, labels, generator)
        mine = self.bank.vectors if self.group.rank == 0 else torch.zeros_like(self.bank.vectors)
        self.bank.vectors.copy_(self.group.sum(mine))  # the first one's: devices may round differently

    def step(self, batch: Batch, progress: float) -> Step:
        """Similarities, assignment, losses; the update of the prototypes is left to `Step.finish`."""
        assert batch.labels is not None
        assert batch.words is not None
        assert batch.certain is not None
        settings, labels, class_of = self.settings, batch.labels, self.bank.class_of
        features = self.dropout(self.encoder(batch))
        similarity = self.bank.similarity(features)
        denoise = settings.denoise and progress >= settings.denoise_after
        every_similarity, own = self.group.gather(similarity.detach())
        every_label, _ = self.group.gather(labels)
        every_word, _ = self.group.gather(batch.words)
        certain, _ = self.group.gather(batch.certain)
        evidence, beta, doubtful, bar = every_similarity, None, None, self.threshold
        unsure = (every_label == OTHER) & ~certain
        if denoise:
            beta = self.beta.item()
            if settings.shared_doubt:
                evidence = self._shared(every_similarity, unsure, every_word)
            if settings.solver == "threshold":
                doubt = self.kin.mixed_into(self._doubt(evidence[unsure]), every_word[unsure])
                bar = threshold(doubt, beta, self.threshold)
                doubtful = unsure.masked_scatter(unsure, too_doubtful(doubt, bar))
        elif settings.denoise and settings.solver == "threshold":
            doubtful = unsure & (self.kin.alone(every_word) > EARLY)
        everywhere = assign(
            evidence, every_label, class_of, self.transport, beta=beta, certain=certain, doubtful=doubtful
        )
        assignment = everywhere.part(own)
        kept, target = similarity[assignment.keep], assignment.target[assignment.keep]
        temperature = self.log_temperature.exp()
        least = 0.0 if bool(certain.all()) else settings.labelled_share  # people's labels stand for themselves alone
        weights = labelled_weights(class_of[target], least, self.group.sum)
        if settings.merge:
            entropy = class_cross_entropy(kept, class_of[target], class_of, temperature, weights)
        else:
            entropy = prototype_cross_entropy(kept, target, temperature, weights)
        compact = compactness(kept, target, weights)

        def finish() -> None:
            self.threshold = bar
            self._update(features.detach(), similarity.detach(), labels, assignment)
            if settings.shared_doubt:
                self.memory.see(every_word, every_similarity)

        return Step(
            loss=entropy + settings.compactness * compact,
            weight=weights.sum().item(),
            logs={
                "cross_entropy": entropy.item(),
                "compactness": compact.item(),
                "kept": _kept(every_label, everywhere.keep),
                **self._similarities(every_similarity[everywhere.keep], everywhere.target[everywhere.keep]),
            },
            finish=finish,
        )

    def _shared(self, similarity: Tensor, doubted: Tensor, words: Tensor) -> Tensor:
        """Similarities (N, P) in which those of doubted words, (N,) bool, are partly those of all mentions of the word."""
        share = self.settings.shared_doubt
        mixed = (1 - share) * similarity + share * self.memory.recall(words, similarity)
        return torch.where(doubted.unsqueeze(-1), mixed, similarity)

    def _doubt(self, similarity: Tensor) -> Tensor:
        """How likely words are entities' (n,), as far as their similarities (n, P) tell."""
        return entity_probability(similarity, self.bank.class_of, SCORE_TEMPERATURE)

    def assign_anew(self, similarity: Tensor) -> Assignment:
        """Where training would now assign words labelled O, by their similarities (n, P) alone."""
        beta, doubtful = self.beta.item(), None
        if self.settings.solver == "threshold":
            doubt = self._doubt(similarity)
            doubtful = too_doubtful(doubt, threshold(doubt, beta))
        labels = torch.full((len(similarity),), OTHER, device=similarity.device)
        return assign(similarity, labels, self.bank.class_of, self.transport, beta=beta, doubtful=doubtful)

    def _similarities(self, similarity: Tensor, target: Tensor) -> dict[str, float]:
        """How similar the kept words of each class are to their prototypes, on average; 0 for a class without any."""
        own, classes = similarity.gather(1, target.unsqueeze(-1)).squeeze(-1), self.bank.class_of[target]
        sums = own.new_zeros(len(self.tags)).index_add_(0, classes, own)
        means = sums / torch.bincount(classes, minlength=len(self.tags)).clamp_min(1)
        names = ("O", *self.labels)
        return {f"similarity.{name}": value for name, value in zip(names, means.tolist(), strict=True)}

    def _update(self, features: Tensor, similarity: Tensor, labels: Tensor, assignment: Assignment) -> None:
        correct = self.bank.class_of[similarity.argmax(-1)] == labels if self.settings.only_correct else None
        self.bank.update(
            features,
            assignment,
            alpha=self.settings.alpha,
            unit_features=self.settings.unit_features,
            only=correct,
            total=self.group.sum,
        )

    def working_state(self) -> dict[str, Tensor]:
        state = self.memory.state() | {f"kin_{name}": value for name, value in self.kin.state().items()}
        return state if self.threshold is None else state | {"threshold": self.threshold}

    def restore_working_state(self, tensors: Mapping[str, Tensor]) -> None:
        self.memory, self.kin = WordMemory(len(self.bank.class_of)), LabelledKin()
        self.threshold = tensors.get("threshold")
        if tensors:
            self.memory.restore(tensors)
            self.kin.restore({name.removeprefix("kin_"): value for name, value in tensors.items()})

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:  # noqa: ARG002
        by_class = self.bank.class_similarity(self.bank.similarity(self.dropout(self.encoder(batch))))
        learnt = self.settings.learn_temperature
        temperature = self.log_temperature.exp() if learnt else SCORE_TEMPERATURE
        return Decisions(((by_class / temperature).log_softmax(-1),))

    @torch.no_grad()
    def predict(self, batch: Batch) -> Prediction:
        similarity = self.bank.similarity(self.encoder(batch))
        by_class = self.bank.class_similarity(similarity)
        likely = (by_class / SCORE_TEMPERATURE).log_softmax(-1)
        probability = (by_class / (SCORE_TEMPERATURE * self.calibration)).softmax(-1)
        tags = most_likely(likely, [len(window.firsts) for window in batch.windows], self.change)
        chosen = tags.unsqueeze(-1)
        others = by_class.scatter(1, chosen, -torch.inf).amax(-1)
        nearest = similarity.masked_fill(self.bank.class_of != chosen, -torch.inf).argmax(-1)
        return Prediction(
            tags, probability.gather(1, chosen).squeeze(-1), nearest, by_class.gather(1, chosen).squeeze(-1) - others
        )


def _kept(labels: Tensor, keep: Tensor) -> float:
    """The share of O words that are learnt from."""
    other = labels == OTHER
    return (keep & other).sum().item() / max(int(other.sum()), 1)
