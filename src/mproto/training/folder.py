"""The folder of a training run: its settings, its history, its checkpoints, and the model that was chosen."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.recognizer import BEST
from mproto.training import checkpoint
from mproto.training.loop import Progress, State

if TYPE_CHECKING:
    from pathlib import Path

    from mproto.config import Config
    from mproto.errors import Notes
    from mproto.recognizer import Recognizer

CONFIG, HISTORY, CHECKPOINTS, BOARD = "config.toml", "history.jsonl", "checkpoints", "tensorboard"
FRESH, OLD = f".{BEST}.partial", f".{BEST}.old"
PARTS = {CONFIG, HISTORY, CHECKPOINTS, BOARD, BEST, FRESH, OLD}
"""What the folder of a run holds. A folder that holds anything else is never replaced."""


class RunFolder:
    """A folder that a run is written to.

    Args:
        folder: where.
        inputs: what the run depends on, by name; a run goes on only with the same.
        notes: where it is counted what could not be read or written.
        force: whether an older run may be replaced.
        resume: whether an older run is to go on.
        leads: whether this process writes; of several that train together, one does.
    """

    def __init__(
        self, folder: Path, inputs: dict[str, Any], notes: Notes, *, force: bool, resume: bool, leads: bool = True
    ) -> None:
        self.folder, self.best, self._checkpoints = folder, folder / BEST, folder / CHECKPOINTS
        self.inputs, self._notes = inputs, notes
        self.leads = leads
        self.kept = self.saved = 0
        self._lines: list[str] = []
        self._last_save = time.monotonic()
        if leads:
            _check(folder, force=force, resume=resume)

    @property
    def is_finished(self) -> bool:
        """Whether the run in it came to its end."""
        history = read_history(self.folder)
        at_end = bool(history) and history[-1].step == history[-1].steps
        return at_end and (self.best / "config.json").is_file() and not self._checkpoints.exists()

    def start(self, config: Config) -> None:
        """Make the folder, now that nothing can be wrong with the call any more; an older run goes."""
        if not self.leads:
            return
        try:
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True)
            (self.folder / CONFIG).write_text(config.to_toml(), "utf-8")
        except OSError as error:
            raise InputError(
                f"cannot be written: {error.strerror}", path=self.folder, hint="name another folder"
            ) from None

    def newest_state(self) -> State | None:
        """The state to go on from, if there is one; the history goes back to where that was.

        Raises:
            InputError: the run was made from other data or with other settings.
        """
        found = checkpoint.newest(self._checkpoints)
        if found is None:
            damaged = checkpoint.count(self._checkpoints)
            self._notes.count("checkpoints are damaged, and none is whole: training starts again", damaged)
            return None
        state, damaged_paths = found
        step = state.values["step"]
        for path in damaged_paths:
            self._notes.count(f"damaged checkpoint was passed over ({path.name}): training goes on from step {step}")
        self._check_inputs(state.values["inputs"])
        self._lines = state.values["history"]
        self.kept, self.saved = state.values["kept"], step
        if self.leads:
            (self.folder / HISTORY).write_text("".join(f"{line}\n" for line in self._lines), "utf-8")
        return state

    def _check_inputs(self, before: dict[str, Any]) -> None:
        for name, value in self.inputs.items():
            if value == before.get(name):
                continue
            shown = f"{name} = {before.get(name)!r}, and not {value!r}" if "." in name else f"other {name}"
            raise InputError(
                f"this run was started with {shown}",
                path=self.folder,
                hint="go on with the same call as before, or start again with --force",
            )

    def record(self, progress: Progress, recognizer: Recognizer) -> None:
        """Write a step into the history, and the model where it is now the one to keep."""
        if not self.leads:
            return
        self._lines.append(json.dumps(asdict(progress)))
        with (self.folder / HISTORY).open("a", encoding="utf-8") as file:
            file.write(f"{self._lines[-1]}\n")
        if progress.best:
            self.keep(recognizer, progress.step)

    def keep(self, recognizer: Recognizer, step: int) -> None:
        """Write the model; the one before it stays until the new one is whole."""
        fresh, old = self.folder / FRESH, self.folder / OLD
        for leftover in (fresh, old):
            shutil.rmtree(leftover, ignore_errors=True)
        recognizer.save_pretrained(fresh)
        if self.best.exists():
            self.best.rename(old)
        fresh.rename(self.best)
        shutil.rmtree(old, ignore_errors=True)
        self.kept = step

    def is_due(self, minutes: float) -> bool:
        """Whether the last checkpoint is so old."""
        return self.leads and time.monotonic() - self._last_save >= 60 * minutes

    def save(self, state: State) -> bool:
        """Write a checkpoint. Where that fails, the older ones stay, and training can go on."""
        if not self.leads:
            return True
        values = {**state.values, "inputs": self.inputs, "history": self._lines, "kept": self.kept}
        try:
            checkpoint.save(self._checkpoints, State(state.tensors, values))
        except OSError as error:
            self._notes.count(f"checkpoints could not be written ({error.strerror or error})")
            return False
        finally:
            self._last_save = time.monotonic()
        self.saved = state.values["step"]
        return True

    def finish(self, recognizer: Recognizer, step: int) -> None:
        """Write the chosen model; checkpoints have served their purpose."""
        if not self.leads:
            return
        self.keep(recognizer, step)
        shutil.rmtree(self._checkpoints, ignore_errors=True)


def _check(folder: Path, *, force: bool, resume: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file", path=folder, hint="name a folder")
    found = {path.name for path in folder.iterdir()} if folder.exists() else set()
    is_run = CONFIG in found and found <= PARTS
    if found and not ((force or resume) and is_run):
        why = "pass --resume to go on with this run, or --force to replace it" if is_run else "name another folder"
        raise InputError("exists already and is not empty", path=folder, hint=why)


def read_history(folder: Path) -> list[Progress]:
    """Every step of a run so far; a line that was cut short when the machine stopped is left out."""
    path = folder / HISTORY
    found = []
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            found.append(Progress(**json.loads(line)))
        except (ValueError, TypeError):
            break
    return found
