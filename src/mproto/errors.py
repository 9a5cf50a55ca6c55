"""Errors that say what is wrong, in which file and line, which value, and what to do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

OnError = Literal["raise", "skip"]


class MprotoError(Exception):
    """Base class of all errors. The command line prints the message and exits with `exit_code`."""

    exit_code = 1


class InputError(MprotoError):
    """The input or the call is invalid. The message names the location, the value and the remedy.

    Args:
        message: what is wrong, with the offending value.
        path: the file with the error.
        line: the line number, counted from 1.
        hint: what to do about it.
    """

    exit_code = 2

    def __init__(
        self, message: str, *, path: Path | str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.path, self.line, self.hint = message, path, line, hint

    def __str__(self) -> str:
        location = (
            "" if self.path is None else f"{self.path}: " if self.line is None else f"{self.path}, line {self.line}: "
        )
        return f"{location}{self.message}" + (f"; {self.hint}" if self.hint else "")

    def at(self, path: Path | str, line: int | None = None) -> InputError:
        """Return the same error with a location. A path or line that is already set is kept."""
        return InputError(
            self.message, path=self.path or path, line=self.line if self.line is not None else line, hint=self.hint
        )


class DataError(InputError):
    """The documents are invalid, not the call.

    The caller that knows their file adds it with `at`.
    """


class MissingExtraError(InputError):
    """An optional dependency is not installed. The message has the pip command to install it.

    Args:
        what: the feature that needs it.
        extra: the name of the extra.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package", hint=f"run: pip install 'mproto-ner[{extra}]'")


def in_short(error: BaseException) -> str:
    """Return the first sentence of another library's error message, which may be very long."""
    lines = str(error).strip().splitlines()
    return (lines[0].partition(". ")[0].rstrip(" .:") if lines else "") or type(error).__name__


class Notes:
    """Counts of rejected records, repairs and losses: nothing is changed or dropped silently.

    Args:
        on_error: `"raise"` stops at the first invalid record; `"skip"` leaves it out and counts it.

    Attributes:
        rejected: the number of records that were left out.
        first_errors: the errors of the first of them.
        counts: how often each kind of change happened.
    """

    KEPT_ERRORS = 10

    def __init__(self, on_error: OnError = "raise") -> None:
        self.on_error: OnError = on_error
        self.rejected = 0
        self.first_errors: list[InputError] = []
        self.counts: Counter[str] = Counter()

    def reject(self, error: InputError) -> None:
        """Raise the error, or count it and leave the record out."""
        if self.on_error == "raise":
            raise error
        self.rejected += 1
        if len(self.first_errors) < self.KEPT_ERRORS:
            self.first_errors.append(error)

    def count(self, what: str, times: int = 1) -> None:
        """Count a change, repair or loss; `what` follows a number: `3 document ids were lost`."""
        if times:
            self.counts[what] += times

    def messages(self) -> list[str]:
        """Return one line for each kind of change, with its count."""
        return [f"{times:,} {what}" for what, times in self.counts.items()]
