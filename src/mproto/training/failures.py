"""What people are told when a run ends before its end: what is kept, and what to do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from mproto.errors import MprotoError
from mproto.training.interrupt import Interrupted
from mproto.training.loop import LossError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mproto.training.folder import RunFolder
    from mproto.training.loop import Loop, Progress


@contextmanager
def explained(loop: Loop, folder: RunFolder | None) -> Iterator[None]:
    """Turn what may go wrong in training into errors for people.

    Raises:
        MprotoError: the loss is no number any more, or memory does not suffice.
        Interrupted: somebody pressed Ctrl-C twice.
    """
    try:
        yield
    except LossError as error:
        raise MprotoError(
            f"{error}; {_what_is_kept(folder)}. Try a lower training.learning_rate, in a new folder."
        ) from None
    except (RuntimeError, MemoryError) as error:
        if not _is_lack_of_memory(error):
            raise
        raise MprotoError(
            f"there is not enough memory for step {loop.step + 1} of {loop.steps}; {_what_is_kept(folder)}. Resume where "
            "there is more, or try a lower training.batch_size or training.token_budget, in a new folder."
        ) from None
    except KeyboardInterrupt:
        if folder is None:
            raise
        raise Interrupted(f"stopped at once; {_what_is_kept(folder)}") from None


def _is_lack_of_memory(error: RuntimeError | MemoryError) -> bool:
    """Of a GPU, of Python, or of torch on a CPU, which has no class for it."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def _what_is_kept(folder: RunFolder | None) -> str:
    if folder and folder.kept:
        return f"the model of step {folder.kept} is kept in {folder.best}"
    if folder and folder.saved:
        return f"the checkpoint of step {folder.saved} is kept in {folder.folder}"
    return "no model was kept"


def how_to_go_on(folder: RunFolder, progress: Progress) -> str:
    """What is there after somebody asked the run to stop."""
    stopped = f"stopped after step {progress.step} of {progress.steps}"
    if folder.saved == progress.step:
        return f"{stopped}, which is kept in {folder.folder}; resume to go on from there"
    if folder.saved:
        return (
            f"{stopped}; its checkpoint could not be written, but that of step {folder.saved} is there to resume from"
        )
    return f"{stopped}; its checkpoint could not be written, so training will start again"
