"""Export a model for transformers without mproto: an encoder with a linear layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForTokenClassification

from mproto.errors import InputError
from mproto.inference.tagger import Tagged
from mproto.io.atomic import usual_permissions
from mproto.models.baselines.self_training import SelfTrainingModel
from mproto.models.baselines.tagger import TaggerModel
from mproto.models.batch import collate
from mproto.models.loading import quiet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mproto.encoding.windows import Window
    from mproto.models.base import Model
    from mproto.recognizer import Recognizer

INSTEAD = "export it as onnx, or install mproto where the model is used and load it with Recognizer.from_pretrained"


def export_transformers(recognizer: Recognizer, folder: Path) -> None:
    """Write a model for `AutoModelForTokenClassification`.

    The tag of a word is that of its first sub-word.

    Args:
        recognizer: a model with a linear layer over the encoder.
        folder: an empty folder.

    Raises:
        InputError: the model does not have this architecture.
        OSError: the folder cannot be written.
    """
    model = _linear(recognizer.model)
    encoder = model.encoder
    config = AutoConfig.for_model(**encoder.model.config.to_dict())
    config.id2label = dict(enumerate(model.tags))
    config.label2id = {tag: number for number, tag in enumerate(model.tags)}
    with quiet():
        plain = AutoModelForTokenClassification.from_config(config)
    base = getattr(plain, plain.base_model_prefix)
    base.load_state_dict(encoder.model.state_dict(), strict=False)
    heads = [part for part in plain.modules() if isinstance(part, nn.Linear) and part.out_features == len(model.tags)]
    heads[-1].load_state_dict(model.head.state_dict())
    with torch.no_grad():
        heads[-1].bias[1:] += model.entity_bias
    with quiet():
        plain.save_pretrained(folder)
    for weights in folder.glob("*.safetensors"):
        usual_permissions(weights)
    encoder.tokenizer.save_pretrained(folder)


def _linear(model: Model) -> TaggerModel:
    """Return the model with the linear layer.

    Raises:
        InputError: the model has prototypes, classifies spans, or adds word shapes.
    """
    if isinstance(model, SelfTrainingModel):
        return _linear(model.student)
    if not isinstance(model, TaggerModel):
        problem = (
            "has prototypes, which AutoModelForTokenClassification does not support"
            if model.prototype_names
            else "classifies spans, not words"
        )
        raise InputError(f"the model {problem}", hint=INSTEAD)
    if model.encoder.shapes is not None:
        raise InputError(
            "the model uses word shapes, which AutoModelForTokenClassification does not support",
            hint=f"train with --set word_shapes=false, or with a cased encoder; or {INSTEAD}",
        )
    return model


class TransformersTagger:
    """An exported folder, opened by transformers, to compare it with the original model.

    Args:
        folder: the exported folder.
        original: the original model.
    """

    def __init__(self, folder: Path, original: Recognizer) -> None:
        with quiet():
            self._model = AutoModelForTokenClassification.from_pretrained(folder, local_files_only=True).eval()
        model = original.model
        self.labels, self.tokens, self.window, self.prototype_names = model.labels, model.tokens, model.window, ()
        self.tokens_per_batch, self.encoder_name = model.tokens_per_batch, model.encoder_name
        self.tags = tuple(self._model.config.id2label[number] for number in range(len(model.tags)))

    def tag(self, windows: Sequence[Window], *, features: bool = False) -> Tagged:  # noqa: ARG002
        """Tag the own words of some windows."""
        batch = collate(windows, self.tokens.pad)
        with torch.inference_mode():
            logits = self._model(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
        best = logits[batch.rows, batch.columns].softmax(-1).max(-1)
        return Tagged(best.indices.tolist(), best.values.tolist())
