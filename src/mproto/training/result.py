"""The result of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mproto.persistence.card import expected_scores, recommended_way

if TYPE_CHECKING:
    from mproto.denoising.outlook import Way
    from mproto.recognizer import Recognizer
    from mproto.training.loop import Progress

LAST_PART = 10
"""`kept_share` is the mean over the last tenth of the steps."""


@dataclass(frozen=True)
class TrainingResult:
    """A trained recogniser and the history of its training.

    Attributes:
        recognizer: the trained recogniser.
        history: one entry for each step. After `resume=True` it includes the steps before the
            interruption.
    """

    recognizer: Recognizer
    history: tuple[Progress, ...]

    @property
    def steps(self) -> int:
        """The number of training steps."""
        return len(self.history)

    @property
    def best_step(self) -> int:
        """The step whose weights were kept; the last one if no score selects a checkpoint."""
        return self._best.step

    @property
    def dev_f1(self) -> float | None:
        """The strict F1 on the development data that selected the checkpoint; `None` if none did."""
        return self._best.score

    @property
    def unlabelled_share(self) -> float | None:
        """The estimated share of O words that are entities; `None` if it was not estimated."""
        return next((step.logs["unlabelled"] for step in self.history if "unlabelled" in step.logs), None)

    @property
    def unlabelled_interval(self) -> tuple[float, float] | None:
        """The 80 % interval of `unlabelled_share`; `None` if the method gives none."""
        names = ("unlabelled.low", "unlabelled.high")
        found = next((step.logs for step in self.history if names[0] in step.logs), None)
        return None if found is None else (found[names[0]], found[names[1]])

    @property
    def relabelled(self) -> dict[str, int]:
        """What cross-fitting changed, in words: `added` (O words that are learnt as entities) and `left_out`."""
        found = next((step.logs for step in self.history if "relabelled.added" in step.logs), {})
        prefix = "relabelled."
        return {key.removeprefix(prefix): int(value) for key, value in found.items() if key.startswith(prefix)}

    @property
    def kept_share(self) -> float | None:
        """The mean share of O words that were trained as O in the last tenth of training.

        `None` if the method does not log it.
        """
        kept = [progress.logs["kept"] for progress in self.history if "kept" in progress.logs]
        last = kept[-max(1, len(kept) // LAST_PART) :]
        return sum(last) / len(last) if last else None

    @property
    def recommended(self) -> Way | None:
        """What is expected to find entities best: `both` the model and the terms, the `model` alone or the `terms` alone.

        `None` if the method does not estimate it.
        """
        return recommended_way(self.recognizer.card)

    @property
    def expected_scores(self) -> dict[Way, dict[str, float]]:
        """The expected `precision`, `recall` and `f1` of both, the model and the terms: by word, as fractions.

        They are estimated without human labels. Empty if the method does not estimate them.
        """
        return expected_scores(self.recognizer.card)

    @property
    def _best(self) -> Progress:
        return [progress for progress in self.history if progress.best][-1]
