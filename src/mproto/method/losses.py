"""The losses of the paper, one value per word; the losses of a step are means over the words that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn.functional import cross_entropy

if TYPE_CHECKING:
    from torch import Tensor


def prototype_cross_entropy(similarity: Tensor, target: Tensor, temperature: float = 1.0) -> Tensor:
    """Return −log softmax(s / τ) at the assigned prototype (eq. CE).

    Args:
        similarity: (N, P) s, of words and prototypes.
        target: (N,) long, the prototype assigned to each word.
        temperature: τ; the paper has none.

    Returns:
        (N,) losses.
    """
    return cross_entropy(similarity / temperature, target, reduction="none")


def squared_distance(similarity: Tensor, target: Tensor) -> Tensor:
    """Return d² = (1 − s)² between each word and its prototype (eq. CompactLoss).

    Args:
        similarity: (N, P) s.
        target: (N,) long, the prototype assigned to each word.

    Returns:
        (N,) losses.
    """
    return (1 - similarity.gather(1, target.unsqueeze(-1)).squeeze(-1)) ** 2
