"""The registry of methods."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.models.baselines.autoner import AutoNERModel
from mproto.models.baselines.conf_mpu import ConfMPUModel
from mproto.models.baselines.early_stopping import EarlyStoppingModel
from mproto.models.baselines.negative_sampling import NegativeSamplingModel
from mproto.models.baselines.positive_unlabelled import MPNModel, MPUModel
from mproto.models.baselines.self_training import SelfTrainingModel
from mproto.models.baselines.span_sampling import SpanSamplingModel
from mproto.models.baselines.tagger import TaggerModel
from mproto.models.mproto import MProtoModel

if TYPE_CHECKING:
    from mproto.models.base import Model

METHODS: dict[str, type[Model]] = {
    "mproto": MProtoModel,
    "tagger": TaggerModel,
    "early-stopping": EarlyStoppingModel,
    "negative-sampling": NegativeSamplingModel,
    "negative-sampling-span": SpanSamplingModel,
    "mpn": MPNModel,
    "mpu": MPUModel,
    "conf-mpu": ConfMPUModel,
    "autoner": AutoNERModel,
    "self-training": SelfTrainingModel,
}

LOOKUP = ("dictionary", "match", "lookup")


def get_method(name: str) -> type[Model]:
    """Return the class of a method.

    Raises:
        InputError: there is no such method.
    """
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, 1)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(METHODS)}"
    if name in LOOKUP:
        hint = "dictionary lookup needs no training: label with mproto annotate, and compare with mproto score"
    raise InputError(f"there is no method {name!r}", hint=hint)
