"""The folder of a training run: settings, history, checkpoints, and the chosen model."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes

from mproto.errors import InputError, MprotoError
from mproto.io.atomic import write_file
from mproto.io.replacement import recover, sync
from mproto.io.temporary import clear_leftovers, is_temporary
from mproto.recognizer import BEST
from mproto.training import checkpoint
from mproto.training.loop import Progress, State
from mproto.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from mproto.config import Config
    from mproto.errors import Notes
    from mproto.recognizer import Recognizer

CONFIG, RUN, HISTORY, CHECKPOINTS, BOARD = "config.toml", "run.json", "history.jsonl", "checkpoints", "tensorboard"
REPORT, STATE = "report.html", "state.safetensors"
PARTS = (HISTORY, CHECKPOINTS, BOARD, REPORT, STATE, BEST, RUN, CONFIG)
"""The content of a run's folder. A folder that contains anything else is never replaced."""


class RunFolder:
    """The folder that a run is written to.

    Args:
        folder: its path.
        inputs: the settings and data of the run by name; a run is resumed only with the same.
        notes: counts what could not be read or written.
        leads: whether this process writes the files; exactly one of several processes does.

    Attributes:
        best: the folder of the model.
        kept: the step of the model there, or 0.
        saved: the step of the last checkpoint, or 0.
        is_finished: whether the run is complete.
    """

    def __init__(self, folder: Path, inputs: dict[str, Any], notes: Notes, *, leads: bool = True) -> None:
        self.folder, self.best, self._checkpoints = folder, folder / BEST, folder / CHECKPOINTS
        self._inputs, self._notes, self._leads = inputs, notes, leads
        self.kept = self.saved = 0
        self.is_finished = False
        self._lines: list[str] = []
        self._last_save = time.monotonic()

    def check_new(self, *, force: bool) -> None:
        """Check that a run may start here.

        Raises:
            InputError: the folder contains something that must not be replaced.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file", path=self.folder, hint="name a folder")
        with suppress(OSError):  # writing reports the error
            self._clear()
        names = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
        is_run = CONFIG in names and all(name in PARTS or is_temporary(name) for name in names)
        if names and not (force and is_run):
            hint = "pass --resume to resume this run, or --force to replace it" if is_run else "name another folder"
            raise InputError("exists already and is not empty", path=self.folder, hint=hint)

    def read(self) -> State | None:
        """Read an older run, and return the state to resume from, if there is one.

        Raises:
            InputError: the run has other data, other settings or another version of mproto, or cannot
                be read.
        """
        if not (self.folder / CONFIG).is_file():
            self.check_new(force=False)
            return None
        try:
            run = json.loads((self.folder / RUN).read_bytes())
            self._check_version(run.get("mproto_version"))
            self._check_inputs(run["inputs"])
            self.is_finished = run["finished"]
            if self._leads:
                self._clear()
            state, damaged = checkpoint.read(self._checkpoints)
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise InputError(
                f"contains a run that cannot be read ({error})", path=self.folder, hint="start again with --force"
            ) from None
        if self.is_finished:
            return None
        self._report_damaged(damaged, state)
        if state is not None:
            self._lines = state.tensors.pop("history").numpy().tobytes().decode().splitlines()
            self.kept, self.saved = state.values["kept"], state.values["step"]
            if self._leads:
                self._write_history()
        return state

    def _clear(self) -> None:
        """Recover the best model, and remove temporary files, if a process was killed."""
        recover(self.best)
        for path in (self.best, *(self.folder / name for name in PARTS)):
            clear_leftovers(path)

    def _check_version(self, version: str | None) -> None:
        """Check that the minor version is the same, since settings may change with it."""
        if version is None or _minor(version) != _minor(__version__):
            started = f"mproto {version}" if version else "mproto 0.1"
            raise InputError(
                f"this run was started with {started}, and this is mproto {__version__}",
                path=self.folder,
                hint="resume it with that version, or start again with --force",
            )

    def _check_inputs(self, before: dict[str, Any]) -> None:
        for name, value in self._inputs.items():
            if value == before.get(name):
                continue
            shown = f"other {name}" if "documents" in name else f"{name} = {before.get(name)!r}, and not {value!r}"
            raise InputError(
                f"this run was started with {shown}",
                path=self.folder,
                hint="resume it with the same call as before, or start again with --force",
            )

    def _report_damaged(self, damaged: list[Path], state: State | None) -> None:
        then = "training starts again" if state is None else f"training resumes from step {state.values['step']}"
        for path in damaged:
            self._notes.count(f"damaged checkpoint was skipped ({path.name}): {then}")
            if self._leads:
                path.unlink(missing_ok=True)

    def start(self, config: Config) -> None:
        """Create the folder, or delete the old run in it.

        All checks of the call must have passed before.

        Raises:
            InputError: it cannot be written.
        """
        if not self._leads:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in PARTS:
                path = self.folder / name
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            write_file(self.folder / CONFIG, config.to_toml().encode())
            self._write_run(finished=False)
        except OSError as error:
            raise InputError(
                f"cannot be written: {error.strerror or error}", path=self.folder, hint="name another folder"
            ) from None

    def _write_run(self, *, finished: bool) -> None:
        run = {"mproto_version": __version__, "inputs": self._inputs, "finished": finished}
        write_file(self.folder / RUN, f"{json.dumps(run, indent=1)}\n".encode())

    def _write_history(self) -> None:
        write_file(self.folder / HISTORY, "".join(f"{line}\n" for line in self._lines).encode())

    def record(self, progress: Progress, recognizer: Recognizer) -> None:
        """Append a step to the history, and save the model if it is the best one so far."""
        if not self._leads:
            return
        self._lines.append(json.dumps(asdict(progress)))
        try:
            with (self.folder / HISTORY).open("a", encoding="utf-8") as file:
                file.write(f"{self._lines[-1]}\n")
            if progress.best and progress.step < progress.steps:
                self._save_best(recognizer, progress.step)
        except OSError as error:  # training continues; the final model must be written
            self._notes.count(f"times the run could not be saved ({error.strerror or error})")

    def _save_best(self, recognizer: Recognizer, step: int) -> None:
        recognizer.save_pretrained(self.best)
        sync(self.folder)
        self.kept = step

    def is_due(self, minutes: float) -> bool:
        """Return whether the last checkpoint is at least this old."""
        return self._leads and time.monotonic() - self._last_save >= 60 * minutes

    def save(self, state: State) -> bool:
        """Write a checkpoint; return whether this succeeded.

        Otherwise the older ones are unchanged.
        """
        if not self._leads:
            return True
        history = bytearray("".join(f"{line}\n" for line in self._lines).encode())
        tensors = {**state.tensors, "history": torch.frombuffer(history, dtype=torch.uint8)}
        try:
            checkpoint.save(self._checkpoints, State(tensors, {**state.values, "kept": self.kept}))
        except OSError as error:
            self._notes.count(f"checkpoints could not be written ({error.strerror or error})")
            return False
        finally:
            self._last_save = time.monotonic()
        self.saved = state.values["step"]
        return True

    def finish(self, recognizer: Recognizer, step: int) -> None:
        """Write the chosen model, and delete the checkpoints.

        Raises:
            MprotoError: it cannot be written; the checkpoints are kept.
        """
        if not self._leads:
            return
        try:
            self._save_best(recognizer, step)
            self._write_history()
            if recognizer.model.reports_state:
                write_file(self.folder / STATE, to_bytes(recognizer.model.working_state()))
            self._write_run(finished=True)
        except OSError as error:
            raise MprotoError(
                f"the model cannot be written to {self.best}: {error.strerror or error}. Make room, and resume."
            ) from None
        shutil.rmtree(self._checkpoints, ignore_errors=True)


def restore_state(recognizer: Recognizer, folder: Path) -> None:
    """Restore the state of a finished run's model after the last step, for the report.

    Nothing changes if the folder contains no state, as for a saved model or another method.

    Raises:
        InputError: the state cannot be read.
    """
    path = folder / STATE
    if not (path.is_file() and recognizer.model.reports_state):
        return
    try:
        recognizer.model.restore_working_state(load_file(path))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        hint = "delete the file: the report is then written without the words that training left out"
        raise InputError(f"cannot be read ({error})", path=path, hint=hint) from None


def read_history(folder: Path) -> list[Progress]:
    """Read all steps of a run so far, except a last line that a crash cut short."""
    path = folder / HISTORY
    steps = []
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            steps.append(Progress(**json.loads(line)))
        except (ValueError, TypeError):
            break
    return steps


def _minor(version: str) -> list[str]:
    return str(version).split(".")[:2]
