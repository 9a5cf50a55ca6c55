"""Calibrate scores: temperature scaling on human-labelled words.

Guo et al., *On Calibration of Modern Neural Networks* (ICML 2017). All log-probabilities are divided by the temperature that
maximises the likelihood of the labels. It changes no decision. Without human labels a model keeps the default of its class
(`Model.calibration`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from mproto.models.base import inference
from mproto.training.data import Data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mproto.config.settings import Training
    from mproto.models.base import Model
    from mproto.text.document import Document

LOWEST, HIGHEST, CANDIDATES = 0.25, 8.0, 121


def calibrate(model: Model, documents: Sequence[Document], settings: Training) -> None:
    """Set the temperature of a model on human-labelled documents that it was not trained on.

    Models that do not decide word by word are not changed, nor is any model if there are no words.
    """
    data = Data.of(documents, model)
    if not model.by_word or not data.windows:
        return
    answers, labels = [], []
    with inference(model):
        for indices in data.in_order(range(len(data.windows)), settings):
            batch = data.batch(indices)
            assert batch.labels is not None
            answers.append(model.decide(batch.to(model.device)).answers[0].float().cpu())
            labels.append(batch.labels)
    model.calibration = best_temperature(torch.cat(answers), torch.cat(labels))


def best_temperature(answers: Tensor, labels: Tensor) -> float:
    """Return the candidate temperature that maximises the likelihood of labels (N,), given log-probabilities (N, K)."""
    candidates = torch.logspace(0, 1, CANDIDATES, base=HIGHEST / LOWEST, dtype=torch.float64) * LOWEST
    losses = [cross_entropy(answers / temperature, labels).item() for temperature in candidates.tolist()]
    return float(candidates[losses.index(min(losses))])
