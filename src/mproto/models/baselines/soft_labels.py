"""Self-training: what a teacher says of words, made sharper, as targets for a student.

Liang et al., *BOND: BERT-Assisted Open-Domain Named Entity Recognition with Distant Supervision* (KDD 2020), stage II.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.method.reduction import alone

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.reduction import Total


def soft_targets(probabilities: Tensor, total: Total = alone) -> Tensor:
    """(N, C) targets ∝ p² / Σp: sure classes become surer, and frequent ones do not swallow the rest.

    Args:
        probabilities: (N, C) p, of the teacher.
        total: adds up Σp, the expected size of each class, over several processes.
    """
    size = total(probabilities.sum(0)).clamp_min(torch.finfo(probabilities.dtype).tiny)
    weighted = probabilities**2 / size
    return weighted / weighted.sum(-1, keepdim=True)


def soft_cross_entropy(answers: Tensor, targets: Tensor) -> Tensor:
    """The sum over rows of −Σ t log p, for log-probabilities (N, C) and targets (N, C); 0 log 0 is 0."""
    return -torch.where(targets > 0, targets * answers, 0.0).sum()
