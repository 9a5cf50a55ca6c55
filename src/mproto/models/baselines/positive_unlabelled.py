"""Positive-unlabelled learning (`method/risks.py`) with a linear layer over the encoder: MPN and MPU.

Both need to know how many of all words are of each type, the priors. `auto` estimates them in a first stage, a plain tagger
from which some words are kept aside (`training/rehearsal.py`); then everything begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.errors import InputError
from mproto.models.base import Stage, Step
from mproto.models.baselines import risks
from mproto.models.baselines.tagger import TaggerModel
from mproto.models.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor

    from mproto.config import Config
    from mproto.denoising.estimate import Shares
    from mproto.models.base import Model
    from mproto.models.batch import Batch

MOST_ENTITIES = 0.9
"""The most that estimated priors may add up to."""


class PositiveUnlabelledModel(TaggerModel):
    """What the two have in common: IO tags, priors, and where those come from."""

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
    def rehearsal_share(self) -> float:
        return self.settings.rehearsal_share if self.estimates else 0.0

    @property
    def stages(self) -> tuple[Stage, ...]:
        rehearsal = [Stage(self.rehearsal_share, counts=False)] if self.estimates else []
        return (
            *rehearsal,
            *(stage._replace(share=stage.share * (1 - self.rehearsal_share)) for stage in self.own_stages),
        )

    @property
    def own_stages(self) -> tuple[Stage, ...]:
        """Those that come after the rehearsal."""
        return (Stage(1.0),)

    @property
    def own_stage(self) -> int:
        """Which of them it is in; −1 in the rehearsal."""
        return self.stage - self.estimates

    def learn_unlabelled(self, shares: Shares) -> None:
        found = torch.tensor([shares.priors[label] for label in self.labels])
        self.priors.copy_(found * min(1.0, MOST_ENTITIES / float(found.sum())))

    def begin(self, batches: Iterable[Batch]) -> None:  # noqa: ARG002
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget what was learnt: the encoder as it was pre-trained, and a new layer on it."""
        fresh = Encoder.load(self._config.encoder, shapes=self._config.shapes)
        self.encoder.load_state_dict(fresh.state_dict())
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(self._config.training.seed)  # the same in all processes
            self.head.reset_parameters()

    def step(self, batch: Batch, progress: float) -> Step:
        if self.own_stage < 0:
            return super().step(batch, progress)
        assert batch.labels is not None
        part = self.risk(self.logits(batch), batch)
        return Step(part * self.group.size, 1)  # means over all processes' words: gradients are to be added up

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        """The loss, of which each process has a part."""
        raise NotImplementedError


class MPNModel(PositiveUnlabelledModel):
    """Unlabelled words are taken for O, and labelled ones weighted by their priors."""

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        assert batch.labels is not None
        found = risks.risks(logits, batch.labels, self.group.sum)
        return risks.mpn(found, self.priors, self.settings.weight)


class MPUModel(PositiveUnlabelledModel):
    """Unlabelled words are taken for what they are: entities and others, in known shares."""

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        assert batch.labels is not None
        found = risks.risks(logits, batch.labels, self.group.sum)
        return risks.mpu(found, self.priors, self.settings.weight, self.group.sum)


def _check_priors(priors: Mapping[str, float], labels: Iterable[str]) -> None:
    setting = "positive_unlabelled.priors"
    missing, unknown = set(labels) - priors.keys(), priors.keys() - set(labels)
    if missing:
        raise InputError(
            f"{setting} has no value for {', '.join(sorted(missing))}", hint="give every type a prior, or choose auto"
        )
    if unknown:
        raise InputError(
            f"{setting} has {', '.join(sorted(unknown))}, which the training data lack",
            hint=f"the types are {', '.join(labels)}; a setting adds to those before it, unless {setting}=auto comes between",
        )
    if sum(priors.values()) >= 1:
        raise InputError(
            f"{setting} add up to {sum(priors.values()):.3g}, and must stay below 1",
            hint="a prior is the share of all words, O included, that are entities of the type",
        )
