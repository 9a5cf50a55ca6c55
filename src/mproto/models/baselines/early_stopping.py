"""The plain tagger, stopped early: networks learn what is common to many labels before they learn single gaps by heart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.models.base import Stage
from mproto.models.baselines.tagger import TaggerModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.config import Config
    from mproto.models.encoder import Encoder


class EarlyStoppingModel(TaggerModel):
    """Stage I of BOND (Liang et al. 2020): a share of the usual steps; with development data, the best of them."""

    def __init__(self, encoder: Encoder, labels: Iterable[str], config: Config) -> None:
        super().__init__(encoder, labels, config)
        self.share = config.early_stopping.share

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(self.share),)
