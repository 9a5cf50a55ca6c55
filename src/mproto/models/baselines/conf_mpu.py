"""Conf-MPU: a first model separates entities from other words; a second one uses its confidence in each word.

Zhou et al., *Distantly Supervised Named Entity Recognition via Confidence-Based Multi-Class Positive and Unlabeled
Learning* (ACL 2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.models.base import Stage
from mproto.models.baselines import risks
from mproto.models.baselines.positive_unlabelled import PositiveUnlabelledModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor

    from mproto.models.batch import Batch, Window

ETA = 0.5
"""η: words with a higher confidence count as part of an entity."""
CONFIDENCE_SHARE = 0.33
"""Fraction of the steps that train the first model."""
MIN_CONFIDENCE = 1e-6
"""Words are weighted by 1/λ̂, which must stay finite."""


class ConfMPUModel(PositiveUnlabelledModel):
    """Two stages of one run. The first model gives λ̂ for every training word and is then reset.

    The first model has two classes, O and entity, for which it uses two outputs of the head.
    """

    _confidence: dict[tuple[int, int], Tensor] | None = None
    """λ̂ of the words of each window, by document and first word; None before the second stage."""

    @property
    def own_stages(self) -> tuple[Stage, ...]:
        return (Stage(CONFIDENCE_SHARE, counts=False), Stage(1 - CONFIDENCE_SHARE))

    def begin(self, batches: Iterable[Batch]) -> None:
        if self.own_stage == 1:
            self._confidence = self._predict_confidence(batches)
        self.reset()

    @torch.no_grad()
    def _predict_confidence(self, batches: Iterable[Batch]) -> dict[tuple[int, int], Tensor]:
        confidence = {}
        for batch in batches:
            probability = self.group.broadcast(self.logits(batch)[:, :2].softmax(-1)[:, 1].cpu())
            for window, own in batch.own_words:
                confidence[_key(window)] = probability[own]
        return confidence

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        assert batch.labels is not None
        weight, all_reduce = self.settings.weight, self.group.sum
        if self.own_stage == 0:
            means = risks.risks(logits[:, :2], batch.labels.clamp_max(1), all_reduce)
            return risks.mpu(means, self.priors.sum().unsqueeze(0), weight, all_reduce)
        assert self._confidence is not None
        confidence = torch.cat([self._confidence[_key(window)][: len(window.firsts)] for window in batch.windows])
        return risks.conf_mpu(
            logits,
            batch.labels,
            confidence.to(logits.device).clamp_min(MIN_CONFIDENCE),
            self.priors,
            weight=weight,
            eta=ETA,
            all_reduce=all_reduce,
        )

    def working_state(self) -> dict[str, Tensor]:
        if self._confidence is None:
            return {}
        places = [(*key, len(own)) for key, own in self._confidence.items()]
        return {"confidence": torch.cat(list(self._confidence.values())), "places": torch.tensor(places)}

    def restore_working_state(self, tensors: Mapping[str, Tensor]) -> None:
        self._confidence = None
        if tensors:
            places = tensors["places"].tolist()
            parts = torch.split(tensors["confidence"], [count for _, _, count in places])
            self._confidence = {
                (document, start): part for (document, start, _), part in zip(places, parts, strict=True)
            }


def _key(window: Window) -> tuple[int, int]:
    return window.document, window.start
