"""Conf-MPU: a model that tells entities from other words first, then one that uses how sure it was of each word."""

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

LEAST_CONFIDENCE = 1e-6
"""Words count for 1/λ̂, which must stay a number."""


class ConfMPUModel(PositiveUnlabelledModel):
    """Two stages of one run. The first model gives λ̂ for every word of the training data, and is forgotten then.

    It has two classes, O and any entity, for which two outputs of the head will do.
    """

    _confidence: dict[tuple[int, int], Tensor] | None = None
    """λ̂ of the words of each window, by its document and first word; none before the second stage."""

    @property
    def own_stages(self) -> tuple[Stage, ...]:
        first = self.settings.confidence_share
        return (Stage(first, counts=False), Stage(1 - first))

    def begin(self, batches: Iterable[Batch]) -> None:
        if self.own_stage == 1:
            self._confidence = self._look(batches)
        self.begin_anew()

    @torch.no_grad()
    def _look(self, batches: Iterable[Batch]) -> dict[tuple[int, int], Tensor]:
        """What the first model makes of the training data."""
        found = {}
        for batch in batches:
            sure = self.logits(batch)[:, :2].softmax(-1)[:, 1].cpu()
            if self.group.rank > 0:
                sure.zero_()
            sure = self.group.sum(sure)  # the first one's: devices may round differently
            for window, own in batch.own_words:
                found[_key(window)] = sure[own]
        return found

    def risk(self, logits: Tensor, batch: Batch) -> Tensor:
        assert batch.labels is not None
        weight, total = self.settings.weight, self.group.sum
        if self.own_stage == 0:
            found = risks.risks(logits[:, :2], batch.labels.clamp_max(1), total)
            return risks.mpu(found, self.priors.sum().unsqueeze(0), weight, total)
        assert self._confidence is not None
        confidence = torch.cat([self._confidence[_key(window)][: len(window.firsts)] for window in batch.windows])
        return risks.conf_mpu(
            logits,
            batch.labels,
            confidence.to(logits.device).clamp_min(LEAST_CONFIDENCE),
            self.priors,
            weight=weight,
            eta=self.settings.eta,
            total=total,
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
