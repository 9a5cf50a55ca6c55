"""Write the numbers of a training run for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.errors import MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from mproto.training.loop import Progress


class Board:
    """Writes every step to a folder for `tensorboard --logdir`.

    Args:
        folder: the folder for its files; created at the first step.

    Raises:
        MissingExtraError: TensorBoard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingExtraError("writing for TensorBoard", "tensorboard") from None
        # Steps from `purge_step` on were written before the run was interrupted and resumed.
        self._open: Any = lambda step: SummaryWriter(str(folder), purge_step=step)
        self._writer: Any = None

    def __call__(self, progress: Progress) -> None:
        self._writer = self._writer or self._open(progress.step)
        numbers = {"loss": progress.loss, "learning_rate": progress.learning_rate, **progress.logs}
        numbers["memory"] = progress.memory
        numbers["words_per_second"] = progress.words / max(progress.seconds, 1e-9)
        if progress.score is not None:
            numbers["score"] = progress.score
        for name, value in numbers.items():
            self._writer.add_scalar(name.replace(".", "/"), value, progress.step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
