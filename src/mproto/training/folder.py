"""The folder of a training run: its settings, its history, its checkpoints, and the model that was chosen."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from mproto.errors import InputError, MprotoError
from mproto.recognizer import BEST
from mproto.training import checkpoint
from mproto.training.loop import Progress, State

if TYPE_CHECKING:
    from pathlib import Path

    from mproto.config import Config
    from mproto.errors import Notes
    from mproto.recognizer import Recognizer

CONFIG, RUN, HISTORY, CHECKPOINTS, BOARD = "config.toml", "run.json", "history.jsonl", "checkpoints", "tensorboard"
REPORT = "report.html"
FRESH, OLD = f".{BEST}.partial", f".{BEST}.old"
PARTS = (HISTORY, CHECKPOINTS, BOARD, REPORT, BEST, FRESH, OLD, RUN, CONFIG)
"""What the folder of a run holds. A folder that holds anything else is never replaced."""


class RunFolder:
    """A folder that a run is written to.

    Args:
        folder: where.
        inputs: what the run depends on, by name; a run goes on only with the same.
        notes: where it is counted what could not be read or written.
        leads: whether this process writes; of several that train together, one does.

    Attributes:
        best: where the model is.
        kept: the step whose model is there, or 0.
        saved: the step of the last checkpoint, or 0.
        is_finished: whether the run came to its end.
    """

    def __init__(self, folder: Path, inputs: dict[str, Any], notes: Notes, *, leads: bool = True) -> None:
        self.folder, self.best, self._checkpoints = folder, folder / BEST, folder / CHECKPOINTS
        self._inputs, self._notes, self._leads = inputs, notes, leads
        self.kept = self.saved = 0
        self.is_finished = False
        self._lines: list[str] = []
        self._last_save = time.monotonic()

    def check_new(self, *, force: bool) -> None:
        """See to it that a run may begin here.

        Raises:
            InputError: there is something that must not be replaced.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file", path=self.folder, hint="name a folder")
        found = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
        is_run = CONFIG in found and found <= set(PARTS)
        if found and not (force and is_run):
            why = "pass --resume to go on with this run, or --force to replace it" if is_run else "name another folder"
            raise InputError("exists already and is not empty", path=self.folder, hint=why)

    def look(self) -> State | None:
        """What there is of an older run: whether it is finished, and if not, the state to go on from, if there is one.

        Raises:
            InputError: it was made from other data or with other settings, or cannot be read.
        """
        if not (self.folder / CONFIG).is_file():
            self.check_new(force=False)
            return None
        try:
            run = json.loads((self.folder / RUN).read_bytes())
            self._check_inputs(run["inputs"])
            self.is_finished = run["finished"]
            if self._leads and (self.folder / OLD).exists() and not self.best.exists():
                (self.folder / OLD).rename(self.best)  # it was stopped while the new one took its place
            state, damaged = checkpoint.newest(self._checkpoints)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"holds a run that cannot be read ({error})", path=self.folder, hint="start again with --force"
            ) from None
        if self.is_finished:
            return None
        self._pass_over(damaged, state)
        if state is not None:
            self._lines = state.tensors.pop("history").numpy().tobytes().decode().splitlines()
            self.kept, self.saved = state.values["kept"], state.values["step"]
            if self._leads:
                (self.folder / HISTORY).write_text("".join(f"{line}\n" for line in self._lines), "utf-8")
        return state

    def _check_inputs(self, before: dict[str, Any]) -> None:
        for name, value in self._inputs.items():
            if value == before.get(name):
                continue
            shown = f"other {name}" if "documents" in name else f"{name} = {before.get(name)!r}, and not {value!r}"
            raise InputError(
                f"this run was started with {shown}",
                path=self.folder,
                hint="go on with the same call as before, or start again with --force",
            )

    def _pass_over(self, damaged: list[Path], state: State | None) -> None:
        for path in damaged:
            then = "training starts again" if state is None else f"training goes on from step {state.values['step']}"
            self._notes.count(f"damaged checkpoint was passed over ({path.name}): {then}")
            if self._leads:
                path.unlink(missing_ok=True)

    def start(self, config: Config) -> None:
        """Make the folder, now that nothing can be wrong with the call any more; what was in it goes."""
        if not self._leads:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in PARTS:
                path = self.folder / name
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            self._write_run(finished=False)
            (self.folder / CONFIG).write_text(config.to_toml(), "utf-8")
        except OSError as error:
            raise InputError(
                f"cannot be written: {error.strerror or error}", path=self.folder, hint="name another folder"
            ) from None

    def _write_run(self, *, finished: bool) -> None:
        partial = self.folder / f"{RUN}.partial"
        partial.write_text(json.dumps({"inputs": self._inputs, "finished": finished}, indent=1) + "\n", "utf-8")
        partial.replace(self.folder / RUN)

    def record(self, progress: Progress, recognizer: Recognizer) -> None:
        """Write a step into the history, and the model where it is now the one to keep."""
        if not self._leads:
            return
        self._lines.append(json.dumps(asdict(progress)))
        try:
            with (self.folder / HISTORY).open("a", encoding="utf-8") as file:
                file.write(f"{self._lines[-1]}\n")
            if progress.best and progress.step < progress.steps:
                self._keep(recognizer, progress.step)
        except OSError as error:  # not a reason to stop; the end is
            self._notes.count(f"times the run could not be written down ({error.strerror or error})")

    def _keep(self, recognizer: Recognizer, step: int) -> None:
        """Write the model; the one before it stays until the new one is whole."""
        fresh, old = self.folder / FRESH, self.folder / OLD
        for leftover in (fresh, old):
            shutil.rmtree(leftover, ignore_errors=True)
        recognizer.save_pretrained(fresh)
        for path in (*fresh.iterdir(), fresh):
            checkpoint.sync(path)
        if self.best.exists():
            self.best.rename(old)
        fresh.rename(self.best)
        checkpoint.sync(self.folder)
        shutil.rmtree(old, ignore_errors=True)
        self.kept = step

    def is_due(self, minutes: float) -> bool:
        """Whether the last checkpoint is so old."""
        return self._leads and time.monotonic() - self._last_save >= 60 * minutes

    def save(self, state: State) -> bool:
        """Write a checkpoint, and say whether that went well. Where it did not, the older ones are still there."""
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
        """Write the chosen model; checkpoints have served their purpose.

        Raises:
            MprotoError: it cannot be written; the checkpoints stay.
        """
        if not self._leads:
            return
        try:
            self._keep(recognizer, step)
            (self.folder / HISTORY).write_text("".join(f"{line}\n" for line in self._lines), "utf-8")
            self._write_run(finished=True)
        except OSError as error:
            raise MprotoError(
                f"the model cannot be written to {self.best}: {error.strerror or error}. Make room, and resume."
            ) from None
        shutil.rmtree(self._checkpoints, ignore_errors=True)


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
