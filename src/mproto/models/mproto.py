"""The paper's model: an encoder and several prototypes for each class."""

from __future__ import annotations

import json
from math import log
from typing import TYPE_CHECKING

import torch
from torch import nn

from mproto.denoising.base import Denoiser, NoDenoising, StepWords
from mproto.denoising.estimate import DEFAULT_SHARE
from mproto.denoising.neighbours import MAX_WORDS, explained_variance, labelled_share, nearest_neighbours
from mproto.denoising.threshold import Threshold
from mproto.denoising.transport import Transport
from mproto.denoising.word_ids import WordIds
from mproto.errors import InputError
from mproto.extensions.kmeans import initialise_prototypes
from mproto.extensions.losses import class_cross_entropy, labelled_weights, weighted_mean
from mproto.extensions.viterbi import most_likely, transitions
from mproto.method.losses import prototype_cross_entropy, squared_distance
from mproto.method.prototypes import OTHER, PrototypeBank
from mproto.models.base import Decisions, Model, Prediction, Step, UsesEstimate, shift_entities
from mproto.models.word_embeddings import word_embeddings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import MProto
    from mproto.denoising.estimate import UnlabelledEstimate
    from mproto.method.assignment import Assignment
    from mproto.models.base import Preview
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder

SCORE_TEMPERATURE = 0.1
"""Temperature of scores without human labels; between the best values for BC5CDR and CoNLL03 (experiments/DECISIONS.md)."""
ROUNDS = 2
"""Rounds of cross-fitting. The second one gains much where labels are wrong or few (experiments/DECISIONS.md)."""


class MProtoModel(Model, UsesEstimate):
    """Tags words with the class of the most similar prototype (IO tags).

    Attributes:
        bank: the prototypes.
        denoiser: decides which O words to leave out of a step.
        word_ids: ids of the distinct words of the training data, for the denoiser.
        transitions: (K, K) scores of class pairs for Viterbi decoding; zeros without it.
    """

    reports_state = True

    def __init__(self, encoder: Encoder, labels: Iterable[str], settings: MProto, dropout: float = 0.0) -> None:
        super().__init__(encoder, labels, "io")
        self.settings = settings
        self.dropout = nn.Dropout(dropout)
        unit = settings.prototype_update != "raw"
        self.bank = PrototypeBank([settings.prototypes] * len(self.tags), encoder.hidden_size, unit=unit)
        self.transitions: Tensor
        self.register_buffer("transitions", torch.zeros(len(self.tags), len(self.tags)))
        self.denoiser = build_denoiser(settings)
        self.word_ids = WordIds()
        self.calibration = SCORE_TEMPERATURE / settings.temperature
        # Rounded like the logarithm that version 0.1 saved, so that training gives the same weights.
        self._loss_temperature = torch.tensor(log(settings.temperature)).exp().item()

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> MProtoModel:
        settings = config.mproto
        if _is_estimated(settings) and not 0 < settings.denoise_after < 1:
            raise InputError(
                f"mproto.beta is auto, but mproto.denoise_after is {settings.denoise_after}: "
                "β is estimated from the steps before denoising starts",
                hint="set mproto.denoise_after to a value between 0 and 1, such as 0.2, or mproto.beta to a number",
            )
        return cls(encoder, labels, settings, config.dropout)

    @torch.no_grad()
    def prepare(self, preview: Preview) -> None:
        """Initialise the prototypes, the transition scores and the neighbour prior."""
        self.word_ids = WordIds(preview.words)
        if self.settings.viterbi:
            self.transitions.copy_(transitions(preview.tags, len(self.tags)))
        if isinstance(self.denoiser, Threshold):
            self._learn_neighbours(self.denoiser, preview.words[:MAX_WORDS], preview.labelled[:MAX_WORDS])
        if self.settings.init == "random":
            self.bank.start_at_random(preview.generator)
            return
        encoded = [
            (self.encoder(batch).cpu(), batch.labels.cpu()) for batch in preview.batches if batch.labels is not None
        ]
        features, labels = map(torch.cat, zip(*encoded, strict=True))
        initialise_prototypes(self.bank, features, labels, preview.generator)
        self.bank.vectors.copy_(self.group.broadcast(self.bank.vectors))

    def _learn_neighbours(self, denoiser: Threshold, words: Sequence[str], labelled: Sequence[float]) -> None:
        lowercase = torch.tensor([word[:1].islower() for word in words], device=self.device)
        neighbours = nearest_neighbours(word_embeddings(self.encoder, words), lowercase)
        if neighbours is None:
            return
        shares = torch.tensor(labelled, device=self.device, dtype=neighbours.weights.dtype)
        prediction = self.group.broadcast(labelled_share(neighbours, shares))
        weight = torch.tensor(explained_variance(prediction, shares), dtype=torch.float64)
        denoiser.prior.learn(prediction, self.group.broadcast(weight).item())

    def step(self, batch: Batch, progress: float) -> Step:
        """Compute similarities, assignment and losses. `Step.finish` updates the prototypes."""
        features = self.dropout(self.encoder(batch))  # h, (n, d)
        similarity = self.bank.similarity(features)  # s(h, p), (n, P)
        words, own = self._gather(batch, similarity.detach())
        denoised = self.denoiser.assign(words, self.bank.class_of, progress)  # eq. OT0 and DOT
        assignment = denoised.assignment.part(own)
        kept, target = similarity[assignment.keep], assignment.target[assignment.keep]
        weights = self._weights(target, words)
        entropy = weighted_mean(self._cross_entropy(kept, target), weights)  # eq. CE
        compact = weighted_mean(squared_distance(kept, target), weights)  # eq. CompactLoss

        def finish() -> None:
            self._update(features.detach(), similarity.detach(), words.labels[own], assignment)  # eq. EMA
            denoised.commit()

        return Step(
            loss=entropy + self.settings.compactness * compact,
            weight=weights.sum().item(),
            logs={
                "cross_entropy": entropy.item(),
                "compactness": compact.item(),
                **self._statistics(words, denoised.assignment),
            },
            finish=finish,
        )

    def _gather(self, batch: Batch, similarity: Tensor) -> tuple[StepWords, slice]:
        """Return the words of the step from all processes, and the slice of this process."""
        assert batch.labels is not None
        assert batch.words is not None
        assert batch.certain is not None
        everywhere, own = self.group.gather(similarity)
        labels, ids, certain = (self.group.gather(column)[0] for column in (batch.labels, batch.words, batch.certain))
        return StepWords(everywhere, labels, ids, certain), own

    def _cross_entropy(self, similarity: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy of each word."""
        if not self.settings.merge_prototypes:
            return prototype_cross_entropy(similarity, target, self._loss_temperature)
        class_of = self.bank.class_of
        return class_cross_entropy(similarity, class_of[target], class_of, self._loss_temperature)

    def _weights(self, target: Tensor, words: StepWords) -> Tensor:
        """Return the weights of the words in the losses; all are 1 if humans labelled all documents of the step."""
        min_share = 0.0 if bool(words.certain.all()) else self.settings.labelled_share
        return labelled_weights(self.bank.class_of[target], min_share, self.group.sum)

    def _update(self, features: Tensor, similarity: Tensor, labels: Tensor, assignment: Assignment) -> None:
        published = self.settings.prototype_update == "published"
        predicted = self.bank.class_of[similarity.argmax(-1)]
        correct = torch.eq(predicted, labels) if published else None
        self.bank.update(features, assignment, alpha=self.settings.alpha, only=correct, all_reduce=self.group.sum)

    def _statistics(self, words: StepWords, assignment: Assignment) -> dict[str, float]:
        """Return the share of O words that are kept, and the mean similarity of kept words to their prototypes by class.

        The similarity of a class without words is 0.
        """
        keep, other = assignment.keep, words.labels == OTHER
        target = assignment.target[keep]
        assigned, classes = (
            words.similarity[keep].gather(1, target.unsqueeze(-1)).squeeze(-1),
            self.bank.class_of[target],
        )
        sums = assigned.new_zeros(len(self.tags)).index_add_(0, classes, assigned)
        means = sums / torch.bincount(classes, minlength=len(self.tags)).clamp_min(1)
        names = ("O", *self.labels)
        return {
            "kept": (keep & other).sum().item() / max(int(other.sum()), 1),
            **{f"similarity.{name}": value for name, value in zip(names, means.tolist(), strict=True)},
        }

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:  # noqa: ARG002
        by_class = self.bank.class_similarity(self.bank.similarity(self.dropout(self.encoder(batch))))
        return Decisions(((by_class / self.settings.temperature).log_softmax(-1),))

    @torch.no_grad()
    def predict(self, batch: Batch) -> Prediction:
        similarity = self.bank.similarity(self.encoder(batch))
        by_class = self.bank.class_similarity(similarity)
        logits = shift_entities(by_class / self.settings.temperature, self.entity_bias)
        score = (logits / self.calibration).softmax(-1)
        tags = most_likely(logits.log_softmax(-1), [len(window.firsts) for window in batch.windows], self.transitions)
        chosen = tags.unsqueeze(-1)
        others = by_class.scatter(1, chosen, -torch.inf).amax(-1)
        nearest = similarity.masked_fill(self.bank.class_of != chosen, -torch.inf).argmax(-1)
        margin = by_class.gather(1, chosen).squeeze(-1) - others
        return Prediction(tags, score.gather(1, chosen).squeeze(-1), nearest, margin)

    @property
    def prototype_names(self) -> tuple[str, ...]:
        """`O-1`, `O-2`, …, `Disease-1`, … for each row of the bank."""
        classes = zip(("O", *self.labels), self.bank.sizes, strict=True)
        return tuple(f"{name}-{number}" for name, size in classes for number in range(1, size + 1))

    def after_averaging(self) -> None:
        self.bank.restore_length()

    @property
    def hold_out_share(self) -> float:
        return self.settings.denoise_after if _is_estimated(self.settings) else 0.0

    @property
    def cross_fitting_rounds(self) -> int:  # type: ignore[override]
        return ROUNDS if self.settings.denoising == "relabel" else 0

    def learn_unlabelled(self, estimate: UnlabelledEstimate) -> None:
        self.denoiser.learn_left_out(estimate.left_out)

    def working_state(self) -> dict[str, Tensor]:
        words = bytearray(json.dumps(self.word_ids.spellings).encode())
        state = {f"denoiser.{name}": value for name, value in self.denoiser.state().items()}
        return state | {"words": torch.frombuffer(words, dtype=torch.uint8)}

    def restore_working_state(self, tensors: Mapping[str, Tensor]) -> None:
        state = {name.removeprefix("denoiser."): value for name, value in tensors.items() if name != "words"}
        self.denoiser.restore(state)
        self.word_ids = WordIds(json.loads(tensors["words"].numpy().tobytes()))


def _is_estimated(settings: MProto) -> bool:
    """Say whether β is estimated in a hold-out phase."""
    return settings.denoising in ("transport", "threshold") and settings.beta == "auto"


def build_denoiser(settings: MProto) -> Denoiser:
    """Return a new denoiser for the settings."""
    beta = 1 - DEFAULT_SHARE if settings.beta == "auto" else settings.beta
    if settings.denoising == "transport":
        return Transport(beta, start=settings.denoise_after)
    if settings.denoising == "threshold":
        return Threshold(beta, start=settings.denoise_after, temperature=settings.temperature)
    return NoDenoising(beta)
