"""The command line in real processes that start at once: forked from one that has imported everything already."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["mproto.cli", "mproto.workflows.train", "transformers.models.roberta.modeling_roberta"])


class Forked:
    """`mproto ARGUMENTS` in a process of its own, which can be killed.

    Args:
        arguments: of the command line.
        log: the file for what it writes to standard error.
    """

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self.log = log
        self._process = CONTEXT.Process(target=_main, args=(list(arguments), log))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def wait(self) -> int:
        """Its exit code, or the number of the signal that ended it, negative."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    @property
    def errors(self) -> str:
        return self.log.read_text()


def _main(arguments: list[str], log: Path) -> None:
    from mproto.cli import main

    with log.open("w", buffering=1) as sys.stderr:
        sys.exit(main(arguments))
