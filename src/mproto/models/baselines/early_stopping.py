"""Early stopping: networks learn patterns shared by many labels before they memorise single missing labels.

Stage I of BOND: Liang et al., *BOND: BERT-Assisted Open-Domain Named Entity Recognition with Distant Supervision* (KDD
2020).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.models.base import Stage
from mproto.models.baselines.tagger import TaggerModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mproto.config import Config
    from mproto.models.encoder import Encoder


class EarlyStoppingModel(TaggerModel):
    """The plain tagger, trained for a fraction of the usual steps.

    Development data, if there are any, select the best checkpoint.
    """

    def __init__(self, encoder: Encoder, labels: Iterable[str], config: Config) -> None:
        super().__init__(encoder, labels, config)
        self.share = config.early_stopping.share

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(self.share),)
