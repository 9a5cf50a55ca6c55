"""A torch model on disk: weights as safetensors, a tokenizer, and a description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from mproto.errors import InputError, in_short
from mproto.models.encoder import Encoder
from mproto.models.registry import get_method
from mproto.persistence.files import WEIGHTS, check_no_pickle
from mproto.persistence.manifest import MAX_LENGTH, TRAIN_AGAIN, max_length_key
from mproto.persistence.tensors import save_tensors

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from mproto.config import Config
    from mproto.models.base import Model


RENAMED, DROPPED = {"change": "transitions"}, {"beta", "log_temperature"}
"""Tensors in MProto models of version 0.1 that have new names or are no longer used."""


def save_model(model: Model, folder: Path) -> dict[str, Any]:
    """Write a model's files; return the values that `load_model` needs, for `config.json`.

    Raises:
        OSError: they cannot be written.
    """
    encoder = {"name": model.encoder.name, "config": model.encoder.save_files(folder)}
    save_tensors(model.state_dict(), folder / WEIGHTS)
    return {
        "labels": list(model.labels),
        "calibration": model.calibration,
        "entity_bias": model.entity_bias,
        MAX_LENGTH: model.max_length,
        "encoder": encoder,
    }


def load_model(folder: Path, description: dict[str, Any], config: Config) -> Model:
    """Load a model that `save_model` wrote.

    Raises:
        InputError: a file is missing, or belongs to another model.
    """
    try:
        parts = description["encoder"]
        encoder = Encoder.from_files(parts["config"], folder, parts["name"], shapes=config.word_shapes)
        model = get_method(config.method).build(encoder, description["labels"], config)
        weights = _upgrade(_load_weights(folder / WEIGHTS))
        _check_weights(weights, model.state_dict(), config.method)
        model.load_state_dict(weights)
        model.calibration = float(description.get("calibration", model.calibration))
        model.entity_bias = float(description.get("entity_bias", model.entity_bias))
        model.max_length = int(description.get(max_length_key(description), model.max_length))
    except InputError as error:
        raise error.at(folder) from None
    except Exception as error:  # wrong files cause errors of many classes in transformers, tokenizers and torch
        raise InputError(f"is not a complete model: {in_short(error)}", path=folder, hint=TRAIN_AGAIN) from error
    return model.eval()


def _upgrade(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename the weights of a model saved by version 0.1; return others unchanged."""
    upgraded = {}
    for name, tensor in weights.items():
        prefix, bare = ("student.", name[8:]) if name.startswith("student.") else ("", name)
        if bare not in DROPPED:
            upgraded[prefix + RENAMED.get(bare, bare)] = tensor
    return upgraded


def _check_weights(weights: dict[str, Tensor], expected: dict[str, Tensor], method: str) -> None:
    if weights.keys() != expected.keys():
        raise ValueError(f"its weights are not those of the method {method}, which config.json names")
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape:
            shapes = f"{list(tensor.shape)}, but according to config.json it must be {list(expected[name].shape)}"
            raise ValueError(f"the shape of its {name} is {shapes}")


def _load_weights(path: Path) -> dict[str, Tensor]:
    try:
        check_no_pickle(path)
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot be read: {error}", path=path, hint=TRAIN_AGAIN) from None
