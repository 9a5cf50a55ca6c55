"""Calibrate scores: temperature scaling on human-labelled words, or temperature and bias on relabelled ones.

Guo et al., *On Calibration of Modern Neural Networks* (ICML 2017). All log-probabilities are divided by the temperature that
maximises the likelihood of the labels. It changes no decision (`Model.calibration`).

After cross-fitting (`cross_fitting.py`), there are predictions for text that the model has not seen, and for each word the
probability of each class, given all evidence. Then a bias is fitted, too. It is added to the odds of all entities against O
(`Model.entity_bias`), so that the model finds as many entities as there are expected to be. This changes decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import cross_entropy

from mproto.models.base import inference, shift_entities
from mproto.training.data import Data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mproto.config.settings import Training
    from mproto.models.base import Model
    from mproto.text.document import Document

LOWEST, HIGHEST, CANDIDATES = 0.25, 8.0, 121
MAX_BIAS = 4.0
"""Largest bias, up or down."""
FIT_ITERATIONS = 60


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


class BiasAndTemperature(NamedTuple):
    """A correction of log-probabilities: the bias is added to the odds of entities; the temperature then divides all.

    Attributes:
        bias: changes decisions; see `Model.entity_bias`.
        temperature: changes no decision; see `Model.calibration`.
    """

    bias: float = 0.0
    temperature: float = 1.0

    def shift(self, log_probabilities: Tensor) -> Tensor:
        """Return log-probabilities (N, K) with the bias, but at the same temperature."""
        return shift_entities(log_probabilities, self.bias).log_softmax(-1)


def fit_bias_and_temperature(log_probabilities: Tensor, target: Tensor) -> BiasAndTemperature:
    """Return the correction that maximises the likelihood of a distribution of classes.

    Args:
        log_probabilities: (N, K) of the classes, O first.
        target: (N, K) the probability of each class.
    """
    answers, wanted = log_probabilities.double(), target.double()
    sharpness = torch.ones((), dtype=torch.float64, requires_grad=True)  # 1 / temperature
    bias = torch.zeros((), dtype=torch.float64, requires_grad=True)  # after the division
    optimiser = torch.optim.LBFGS([sharpness, bias], max_iter=FIT_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> float:
        optimiser.zero_grad()
        value = cross_entropy(shift_entities(sharpness * answers, bias), wanted)
        value.backward()  # type: ignore[no-untyped-call]
        return value.item()

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    temperature = 1 / min(max(sharpness.item(), 1 / HIGHEST), 1 / LOWEST)
    return BiasAndTemperature(min(max(bias.item() * temperature, -MAX_BIAS), MAX_BIAS), temperature)
