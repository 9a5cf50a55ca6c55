"""Messages for a run that ends early, with the files that were kept and the remedy."""

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
def explain_failures(loop: Loop, folder: RunFolder | None) -> Iterator[None]:
    """Turn failures of training into errors with a remedy.

    Raises:
        MprotoError: the loss is no longer a finite number, or there is not enough memory.
        Interrupted: the user pressed Ctrl-C twice.
    """
    try:
        yield
    except LossError as error:
        raise MprotoError(
            f"{error}; {_kept_model(folder)}. Try a lower training.learning_rate, in a new folder."
        ) from None
    except (RuntimeError, MemoryError) as error:
        if not _is_out_of_memory(error):
            raise
        raise MprotoError(
            f"there is not enough memory for step {loop.step + 1} of {loop.steps}; {_kept_model(folder)}. Resume where "
            "there is more, or try a lower training.batch_size or training.token_budget, in a new folder."
        ) from None
    except KeyboardInterrupt:
        if folder is None:
            raise
        raise Interrupted(f"stopped at once; {_kept_model(folder)}") from None


def _is_out_of_memory(error: RuntimeError | MemoryError) -> bool:
    """Return whether a GPU, Python, or torch on a CPU is out of memory.

    Torch on a CPU has no class for this error.
    """
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def _kept_model(folder: RunFolder | None) -> str:
    if folder and folder.kept:
        return f"the model of step {folder.kept} is kept in {folder.best}"
    if folder and folder.saved:
        return f"the checkpoint of step {folder.saved} is kept in {folder.folder}"
    return "no model was kept"


def stopped_message(folder: RunFolder, progress: Progress) -> str:
    """Return the message for a run that the user stopped: from which step it can be resumed."""
    stopped = f"stopped after step {progress.step} of {progress.steps}"
    if folder.saved == progress.step:
        return f"{stopped}; its checkpoint is in {folder.folder}"
    if folder.saved:
        return f"{stopped}; its checkpoint could not be written, but the run can be resumed from step {folder.saved}"
    return f"{stopped}; its checkpoint could not be written, so training will start again"
