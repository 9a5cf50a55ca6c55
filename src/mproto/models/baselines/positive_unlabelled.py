"""Positive-unlabelled learning with a linear layer on the encoder: MPN and MPU.

Both need the priors: the share of all words that belong to each type. With `auto` a first stage trains a plain tagger with
held-out words and estimates them (`training/hold_out.py`); then the model is reset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.errors import InputError
from mproto.models.base import Stage, Step, UsesEstimate
from mproto.models.baselines import risks
from mproto.models.baselines.tagger import TaggerModel
from mproto.models.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor

    from mproto.config import Config
    from mproto.denoising.estimate import UnlabelledEstimate
    from mproto.models.base import Model
    from mproto.models.batch import Batch

MAX_ENTITIES = 0.9
"""Maximum sum of estimated priors."""
HOLD_OUT_SHARE = 0.2
"""Fraction of the steps after which the priors are estimated."""


class PositiveUnlabelledModel(TaggerModel, UsesEstimate):
    """Base class: IO tags, and priors that are given or estimated."""

    def __init__(self, encoder: Encoder, labels: Iterable[str], config: Config) -> None:
        super().__init__(encoder, labels, config, "io")
        self.settings = config.positive_unlabelled
        self.estimates = self.settings.priors == "auto"
        self._config = config
        self.priors: Tensor
        given = {} if isinstance(self.settings.priors, str) else self.settings.priors
        self.register_buffer("priors", torch.tensor([given.get(label, 0.0) for label in self.labels]))

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        labels = tuple(labels)
        if not isinstance(config.positive_unlabelled.priors, str):
            _check_priors(config.positive_unlabelled.priors, labels)
        return cls(encoder, labels, config)

    @property
    def hold_out_share(self) -> float:
        return HOLD_OUT_SHARE if self.estimates else 0.0

    @property
    def stages(self) -> tuple[Stage, ...]:
        hold_out = [Stage(self.hold_out_share, counts=False)] if self.estimates else []
        rest = (stage._replace(share=stage.share * (1 - self.hold_out_share)) for stage in self.own_stages)
        return (*hold_out, *rest)

    @property
    def own_stages(self) -> tuple[Stage, ...]:
        """The stages after the hold-out phase."""
        return (Stage(1.0),)

    @property
    def own_stage(self) -> int:
        """The number of the current one of `own_stages`; −1 during the hold-out phase."""
        return self.stage - self.estimates

    def learn_unlabelled(self, estimate: UnlabelledEstimate) -> None:
        priors = torch.tensor([estimate.priors[label] for label in self.labels])
        self.priors.copy_(priors * min(1.0, MAX_ENTITIES / float(priors.sum())))

    def begin(self, batches: Iterable[Batch]) -> None:  # noqa: ARG002
        self.reset()

    def reset(self) -> None:
        """Restore the pre-trained encoder and draw a new layer on it."""
        fresh = Encoder.load(self._config.encoder, shapes=self._config.word_shapes)
        self.encoder.load_state_dict(fresh.state_dict())
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(self._config.training.seed)  # the same in all processes
            self.head.reset_parameters()

    def step(self, batch: Batch, progress: float) -> Step:
        if self.own_stage < 0:
            return super().step(batch, progress)
        assert batch.labels is not None
        part = self.risk(self.logits(batch), batch)
        return Step(part * self.group.size, 1)  # the means are over all processes, so gradients must be summed

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        """Return this process's part of the loss."""
        raise NotImplementedError


class MPNModel(PositiveUnlabelledModel):
    """Treats unlabelled words as O, and weights labelled words by their priors."""

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        assert batch.labels is not None
        means = risks.risks(logits, batch.labels, self.group.sum)
        return risks.mpn(means, self.priors, self.settings.weight)


class MPUModel(PositiveUnlabelledModel):
    """Treats unlabelled words as a mixture of entities and other words, with known shares."""

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        assert batch.labels is not None
        means = risks.risks(logits, batch.labels, self.group.sum)
        return risks.mpu(means, self.priors, self.settings.weight, self.group.sum)


def _check_priors(priors: Mapping[str, float], labels: Iterable[str]) -> None:
    setting = "positive_unlabelled.priors"
    missing, unknown = set(labels) - priors.keys(), priors.keys() - set(labels)
    if missing:
        raise InputError(
            f"{setting} has no value for {', '.join(sorted(missing))}", hint="give every type a prior, or choose auto"
        )
    if unknown:
        raise InputError(
            f"{setting} has {', '.join(sorted(unknown))}, which the training data do not have",
            hint=f"the types are {', '.join(labels)}; to discard priors set earlier, set {setting}=auto in between",
        )
    if sum(priors.values()) >= 1:
        raise InputError(
            f"{setting} sum to {sum(priors.values()):.3g}, but must sum to less than 1",
            hint="a prior is the share of all words, O included, that are entities of the type",
        )
