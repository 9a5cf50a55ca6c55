"""The first part of an exported graph: the encoder, and the probabilities of each word's tags."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from mproto.errors import InputError
from mproto.models.base import shift_entities
from mproto.models.baselines.self_training import SelfTrainingModel
from mproto.models.baselines.tagger import TaggerModel
from mproto.models.batch import Batch
from mproto.models.mproto import MProtoModel

if TYPE_CHECKING:
    from mproto.models.base import Model

INPUTS = ("input_ids", "attention_mask", "shapes", "rows", "columns")


class Network(nn.Module):
    """The part of a model that can be traced: everything before the tags are decoded.

    Attributes:
        outputs: the names of the outputs of `forward`.
        transitions: (K, K) as in `extensions.viterbi.transitions`; zeros if each word is tagged
            independently.
    """

    outputs: tuple[str, ...] = ("log_probs", "probs", "features")

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.calibration, self.entity_bias = model.calibration, model.entity_bias
        self.transitions = torch.zeros(len(model.tags), len(model.tags))

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, shapes: Tensor, rows: Tensor, columns: Tensor
    ) -> tuple[Tensor, ...]:
        """Compute the outputs for the W own words of B windows of T sub-words, as in a `Batch`."""
        features = self.encoder(Batch(input_ids, attention_mask, shapes, rows, columns, ()))
        return (*self.classify(features), features)

    def classify(self, features: Tensor) -> tuple[Tensor, ...]:
        """Compute all outputs but the features themselves."""
        raise NotImplementedError


class LinearNetwork(Network):
    """The network of the plain tagger, and of methods that only differ from it in their loss."""

    def __init__(self, model: TaggerModel) -> None:
        super().__init__(model)
        self.head = model.head

    def classify(self, features: Tensor) -> tuple[Tensor, ...]:
        """Return log-probabilities and calibrated probabilities of tags, each (W, K)."""
        logits = shift_entities(self.head(features), self.entity_bias)
        return logits.log_softmax(-1), (logits / self.calibration).softmax(-1)


class PrototypeNetwork(Network):
    """The network of MProto.

    Its additional outputs are, for each class, the nearest prototype, and the margin: the
    similarity to that prototype minus the similarity to the nearest prototype of any other class.
    """

    outputs = ("log_probs", "probs", "nearest", "margin", "features")

    def __init__(self, model: MProtoModel) -> None:
        super().__init__(model)
        self.bank = model.bank
        self.transitions = model.transitions
        self.temperature = model.settings.temperature

    def classify(self, features: Tensor) -> tuple[Tensor, ...]:
        """Return log-probabilities, probabilities, nearest prototypes and margins, each (W, K)."""
        similarity = self.bank.similarity(features)
        edges = [0, *accumulate(self.bank.sizes)]
        parts = [similarity[:, start:end].max(-1) for start, end in pairwise(edges)]
        by_class = torch.stack([part.values for part in parts], -1)
        nearest = torch.stack([part.indices + start for part, start in zip(parts, edges, strict=False)], -1)
        count = len(parts)
        others = torch.stack([by_class[:, [j for j in range(count) if j != i]].amax(-1) for i in range(count)], -1)
        scaled = shift_entities(by_class / self.temperature, self.entity_bias)
        return scaled.log_softmax(-1), (scaled / self.calibration).softmax(-1), nearest, by_class - others


def network_of(model: Model) -> Network:
    """Return the part of a model that can be traced.

    Raises:
        InputError: the model classifies spans, not words.
    """
    if isinstance(model, SelfTrainingModel):
        return network_of(model.student)
    if isinstance(model, MProtoModel):
        return PrototypeNetwork(model).eval()
    if isinstance(model, TaggerModel):
        return LinearNetwork(model).eval()
    raise InputError(
        "this model classifies spans, and only models that tag words can be exported",
        hint="use it with PyTorch, or train another method, for example mproto",
    )
