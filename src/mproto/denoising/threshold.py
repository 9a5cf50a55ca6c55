"""Our denoising, the default: compare the entity probability of O words with a threshold; no transport.

Eq. DOT fixes the number of words of every entity prototype, and thereby the number of unlabelled
words of each type. These numbers are unknown; only β can be estimated. If only the total mass of
the O prototypes is fixed, the transport problem without entropy needs no solver: of n words, the
(1 − β)·n with the highest entity probability leave O. This is a threshold. A moving average shares
it between steps, so that a step with many unlabelled entities leaves out more words than a step
with few. Since the estimate of β may be too high, words that are more likely entities than not are
always left out.

The entity probability of a word combines three sources: its own similarities, those of its earlier mentions
(`word_memory.py`), and the labels of its nearest neighbours in embedding space (`neighbours.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.denoising.base import Denoised, Denoiser
from mproto.denoising.neighbours import NeighbourPrior
from mproto.denoising.word_memory import MEMORY_SHARE, WordMemory
from mproto.extensions.losses import class_logits
from mproto.method.assignment import Assignment, assign_within_class
from mproto.method.prototypes import OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from mproto.denoising.base import StepWords

DECAY = 0.95
"""Weight of the previous threshold in the moving average."""
PRIOR_THRESHOLD = 0.1
"""Before denoising starts, words whose neighbour prior exceeds this are left out."""
MAX_THRESHOLD = 0.5
"""Words that are more likely entities than not are left out, however high β is."""


class Threshold(Denoiser):
    """Leaves out O words whose entity probability exceeds a threshold.

    Args:
        beta: β, the fraction of O words below the threshold, unless it would exceed `MAX_THRESHOLD`.
        start: fraction of the training after which the model's predictions are used. Before, only
            the neighbour prior is used.
        temperature: τ of the entity probability.

    Attributes:
        prior: the neighbour prior; it has no effect before `learn` is called.
        memory: the similarities of earlier mentions.
        threshold: () float64, the threshold of the last step; None before the first O word.
    """

    def __init__(self, beta: float, *, start: float = 0.0, temperature: float = 1.0) -> None:
        super().__init__(beta)
        self._start, self._temperature = start, temperature
        self.prior, self.memory = NeighbourPrior(), WordMemory()
        self.threshold: Tensor | None = None

    def assign(self, words: StepWords, class_of: Tensor, progress: float) -> Denoised:
        uncertain, similarity = words.uncertain, words.similarity
        threshold = self.threshold
        if progress < self._start:
            left_out = uncertain & (self.prior.probability(words.ids) > PRIOR_THRESHOLD)
        else:
            similarity = torch.where(uncertain.unsqueeze(-1), self._with_memory(words), similarity)
            probability = entity_probability(similarity[uncertain], class_of, self._temperature)
            probability = self.prior.mix(probability, words.ids[uncertain])
            threshold = next_threshold(probability, self.beta, self.threshold)
            left_out = uncertain.masked_scatter(uncertain, exceeds(probability, threshold))

        def commit() -> None:
            self.threshold = threshold
            self.memory.add(words.ids, words.similarity)

        return Denoised(_leave_out(left_out, similarity, words.labels, class_of), commit)

    def _with_memory(self, words: StepWords) -> Tensor:
        """Return the similarities (N, P) of the words, mixed with those of their earlier mentions."""
        earlier = self.memory.mean(words.ids, words.similarity)
        return (1 - MEMORY_SHARE) * words.similarity + MEMORY_SHARE * earlier

    def state(self) -> dict[str, Tensor]:
        state = {"beta": torch.tensor(self.beta, dtype=torch.float64)}
        state |= {f"memory.{name}": value for name, value in self.memory.state().items()}
        state |= {f"prior.{name}": value for name, value in self.prior.state().items()}
        return state if self.threshold is None else state | {"threshold": self.threshold}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.beta, self.threshold = state["beta"].item(), state.get("threshold")
        self.memory.restore({name: state[f"memory.{name}"] for name in self.memory.state()})
        self.prior.restore({name: state[f"prior.{name}"] for name in self.prior.state()})


def _leave_out(left_out: Tensor, similarity: Tensor, labels: Tensor, class_of: Tensor) -> Assignment:
    """Assign words that are left out to the nearest entity prototype, all others within their class."""
    target = similarity.masked_fill(class_of == OTHER, -torch.inf).argmax(-1)
    keep = ~left_out
    if bool(keep.any()):
        target[keep] = assign_within_class(similarity[keep], labels[keep], class_of)
    return Assignment(target, keep)


def entity_probability(similarity: Tensor, class_of: Tensor, temperature: float) -> Tensor:
    """Return the probability (N,) that each word belongs to an entity: 1 − p(O).

    Args:
        similarity: (N, P) to the prototypes.
        class_of: (P,) long, the class of each prototype.
        temperature: τ.
    """
    return 1 - class_logits(similarity, class_of, temperature).softmax(-1)[:, OTHER]


def next_threshold(probability: Tensor, beta: float, last: Tensor | None = None) -> Tensor | None:
    """Return the moving average of the β-quantile of entity probabilities.

    Args:
        probability: (n,) of the O words of this step.
        beta: β.
        last: () float64, the threshold of the previous step, if there was one.

    Returns:
        () float64, or None if there has been no word yet.
    """
    if not len(probability):
        return last
    quantile = torch.quantile(probability.double(), beta)
    return quantile if last is None else DECAY * last.to(quantile.device) + (1 - DECAY) * quantile


def exceeds(probability: Tensor, threshold: Tensor | None) -> Tensor:
    """Return (n,) bool: whether each probability exceeds the threshold, at most `MAX_THRESHOLD`."""
    limit = MAX_THRESHOLD if threshold is None else threshold.to(probability.device).clamp_max(MAX_THRESHOLD)
    return probability > limit
