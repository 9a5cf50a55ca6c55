"""The first part of an exported graph: the encoder, and how likely each class is for each word."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from mproto.errors import InputError
from mproto.models.baselines.self_training import SelfTrainingModel
from mproto.models.baselines.tagger import TaggerModel
from mproto.models.batch import Batch
from mproto.models.mproto import MProtoModel

if TYPE_CHECKING:
    from mproto.models.base import Model

INPUTS = ("input_ids", "attention_mask", "shapes", "rows", "columns")


class Network(nn.Module):
    """What can be traced of a model: features, and what follows from each word's own.

    Attributes:
        outputs: the names of what `forward` gives.
        change: (K, K) of `method.sequence.transitions`; zeros where each word is decided for itself.
    """

    outputs: tuple[str, ...] = ("likely", "probability", "features")

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.calibration = model.calibration
        self.change = torch.zeros(len(model.tags), len(model.tags))

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, shapes: Tensor, rows: Tensor, columns: Tensor
    ) -> tuple[Tensor, ...]:
        """B inputs of T sub-words with W own words, as in a `Batch`."""
        features = self.encoder(Batch(input_ids, attention_mask, shapes, rows, columns, ()))
        return (*self.answers(features), features)

    def answers(self, features: Tensor) -> tuple[Tensor, ...]:
        raise NotImplementedError


class LinearNetwork(Network):
    """That of the plain tagger, and of all that differ from it in their loss alone."""

    def __init__(self, model: TaggerModel) -> None:
        super().__init__(model)
        self.head = model.head

    def answers(self, features: Tensor) -> tuple[Tensor, ...]:
        """(W, T) log-probabilities and calibrated probabilities of tags."""
        logits = self.head(features)
        return logits.log_softmax(-1), (logits / self.calibration).softmax(-1)


class PrototypeNetwork(Network):
    """That of MProto. For every class: the nearest prototype, and how much nearer it is than those of other classes."""

    outputs = ("likely", "probability", "nearest", "margin", "features")

    def __init__(self, model: MProtoModel) -> None:
        super().__init__(model)
        self.bank = model.bank
        self.change = model.transitions
        self.temperature = model.settings.temperature

    def answers(self, features: Tensor) -> tuple[Tensor, ...]:
        """Each (W, K)."""
        similarity = self.bank.similarity(features)
        edges = [0, *accumulate(self.bank.sizes)]
        parts = [similarity[:, start:end].max(-1) for start, end in pairwise(edges)]
        by_class = torch.stack([part.values for part in parts], -1)
        nearest = torch.stack([part.indices + start for part, start in zip(parts, edges, strict=False)], -1)
        count = len(parts)
        others = torch.stack([by_class[:, [j for j in range(count) if j != i]].amax(-1) for i in range(count)], -1)
        scaled = by_class / self.temperature
        return scaled.log_softmax(-1), (scaled / self.calibration).softmax(-1), nearest, by_class - others


def network_of(model: Model) -> Network:
    """The part of a model that can be traced.

    Raises:
        InputError: the model decides on spans, not on words.
    """
    if isinstance(model, SelfTrainingModel):
        return network_of(model.student)
    if isinstance(model, MProtoModel):
        return PrototypeNetwork(model).eval()
    if isinstance(model, TaggerModel):
        return LinearNetwork(model).eval()
    raise InputError(
        "this model decides on spans, which a graph cannot hold",
        hint="use it with torch, or train another method, such as mproto",
    )
