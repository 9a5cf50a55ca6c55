"""Ctrl-C and SIGTERM end a step instead of tearing it."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from mproto.errors import MprotoError

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
ECHO_SECONDS = 2
"""A second signal so soon is the first one again: launchers pass signals on that their processes have got already."""


class Interrupted(MprotoError):  # noqa: N818 (nothing went wrong)
    """Training was stopped by the user, and can go on later."""

    exit_code = 130


class Interrupt:
    """While it is entered, the first signal to stop is remembered; a second one stops at once.

    Signals that are ignored, as under `nohup`, stay ignored. Outside of the main thread nothing is changed.

    Args:
        speaks: whether to say on standard error that the signal has been heard.
    """

    def __init__(self, *, speaks: bool = True) -> None:
        self._speaks = speaks
        self._asked_at: float | None = None
        self._before: dict[int, object] = {}

    @property
    def asked(self) -> bool:
        """Whether somebody wants to stop."""
        return self._asked_at is not None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._remember)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _remember(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            if self._speaks:
                sys.stderr.write("stopping after this step; once more to stop at once\n")
        elif time.monotonic() - self._asked_at > ECHO_SECONDS:
            raise KeyboardInterrupt
