"""Ctrl-C and SIGTERM end a step instead of tearing it."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

from mproto.errors import MprotoError

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(MprotoError):  # noqa: N818 (nothing went wrong)
    """Training was stopped by the user, and can go on later."""

    exit_code = 130


class Interrupt:
    """While it is entered, the first signal to stop is remembered; a second one stops at once.

    Signals that are ignored, as under `nohup`, stay ignored. Outside of the main thread nothing is changed.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, object] = {}

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
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
