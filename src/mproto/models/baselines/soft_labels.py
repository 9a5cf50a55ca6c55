"""Soft labels for self-training: the predictions of a teacher, sharpened.

Liang et al., *BOND: BERT-Assisted Open-Domain Named Entity Recognition with Distant Supervision* (KDD 2020), stage II.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.method.reduction import single_process

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.method.reduction import AllReduce


def soft_targets(probabilities: Tensor, all_reduce: AllReduce = single_process) -> Tensor:
    """Return (N, C) targets ∝ p² / Σp: confident predictions are sharpened, and frequent classes do not dominate.

    Args:
        probabilities: (N, C) p, from the teacher.
        all_reduce: sums Σp, the expected size of each class, over processes.
    """
    size = all_reduce(probabilities.sum(0)).clamp_min(torch.finfo(probabilities.dtype).tiny)
    weighted = probabilities**2 / size
    return weighted / weighted.sum(-1, keepdim=True)


def soft_cross_entropy(answers: Tensor, targets: Tensor) -> Tensor:
    """Return the sum over rows of −Σ t log p for log-probabilities (N, C) and targets t (N, C), with 0 log 0 = 0."""
    return -torch.where(targets > 0, targets * answers, 0.0).sum()
