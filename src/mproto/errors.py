"""Errors for people: what is wrong, where, which value, and what to do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

OnError = Literal["raise", "skip"]


class MprotoError(Exception):
    """The work failed. The command line shows the message and exits with `exit_code`."""

    exit_code = 1


class InputError(MprotoError):
    """The input or the call is wrong; the message names the place, the value and the remedy.

    Args:
        message: what is wrong, with the offending value.
        path: the file it is in.
        line: its line, counted from 1.
        hint: what to do about it.
    """

    exit_code = 2

    def __init__(
        self, message: str, *, path: Path | str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.path, self.line, self.hint = message, path, line, hint

    def __str__(self) -> str:
        place = (
            "" if self.path is None else f"{self.path}: " if self.line is None else f"{self.path}, line {self.line}: "
        )
        return f"{place}{self.message}" + (f"; {self.hint}" if self.hint else "")

    def at(self, path: Path | str, line: int | None = None) -> InputError:
        """The same error with a place, where it has none yet."""
        return InputError(
            self.message, path=self.path or path, line=self.line if self.line is not None else line, hint=self.hint
        )


class DataError(InputError):
    """The documents are wrong, not the call; whoever knows the file that they came from adds it."""


class MissingExtraError(InputError):
    """An optional dependency is not installed; the message is the pip line that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package", hint=f"run: pip install 'mproto-ner[{extra}]'")


def in_short(error: BaseException) -> str:
    """What an error of another library says, as one sentence: some go on for many lines, about all that might be meant."""
    lines = str(error).strip().splitlines()
    return (lines[0].partition(". ")[0].rstrip(" .:") if lines else "") or type(error).__name__


class Notes:
    """What happened on the way and must not stay silent: rejected records, repairs, losses; all counted.

    With `on_error="raise"` the first wrong record ends the work; with `"skip"` it is left out and remembered.
    """

    KEPT_ERRORS = 10

    def __init__(self, on_error: OnError = "raise") -> None:
        self.on_error: OnError = on_error
        self.rejected = 0
        self.first_errors: list[InputError] = []
        self.counts: Counter[str] = Counter()

    def reject(self, error: InputError) -> None:
        """Leave a wrong record out, or stop at it."""
        if self.on_error == "raise":
            raise error
        self.rejected += 1
        if len(self.first_errors) < self.KEPT_ERRORS:
            self.first_errors.append(error)

    def count(self, what: str, times: int = 1) -> None:
        """Remember that something was changed, repaired or lost. `what` reads well behind a number."""
        if times:
            self.counts[what] += times

    def messages(self) -> list[str]:
        """One line for each kind of change, with its count."""
        return [f"{times:,} {what}" for what, times in self.counts.items()]
