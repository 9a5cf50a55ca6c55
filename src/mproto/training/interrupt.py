"""Finish the current step on Ctrl-C or SIGTERM before training stops."""

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
"""A second signal within this time is ignored: launchers forward signals that their processes have
already received."""


class Interrupted(MprotoError):  # noqa: N818 (nothing went wrong)
    """Training was stopped by the user, and can be resumed later."""

    exit_code = 130


class Interrupt:
    """A context that records the first signal to stop; a later one raises `KeyboardInterrupt`.

    Signals that are ignored, as under `nohup`, stay ignored. Outside of the main thread, nothing is
    changed.

    Args:
        verbose: whether to confirm the signal on standard error.
    """

    def __init__(self, *, verbose: bool = True) -> None:
        self._verbose = verbose
        self._requested_at: float | None = None
        self._before: dict[int, object] = {}

    @property
    def is_requested(self) -> bool:
        """Whether a signal to stop has arrived."""
        return self._requested_at is not None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _record(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._requested_at is None:
            self._requested_at = time.monotonic()
            if self._verbose:
                sys.stderr.write("stopping after this step; press Ctrl-C again to stop at once\n")
        elif time.monotonic() - self._requested_at > ECHO_SECONDS:
            raise KeyboardInterrupt
