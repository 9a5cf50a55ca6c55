"""The command line.

Each command has one file, which declares its arguments and calls one function.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import shutil
import signal
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from mproto import __version__
from mproto.cli import (
    annotate,
    convert,
    demo,
    doctor,
    encoders,
    evaluate,
    export,
    formats,
    predict,
    report,
    score,
    serve,
    train,
)
from mproto.errors import MprotoError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

COMMANDS = (demo, annotate, doctor, train, evaluate, predict, serve, export, report, convert, score, formats, encoders)
INTERRUPTED = 130
STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The code is 0 for success, 1 if the work failed, and 2 if the input or the call is wrong.
    """
    gc.set_threshold(100_000, 20, 20)  # documents form no cycles; searching for them takes a tenth of the time
    for number in STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, _stop)
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 (needed until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # do not fail on characters the terminal cannot show
    name = "mproto"
    try:
        parsed = _parser().parse_args(arguments)
        parsed.call = sys.argv[1:] if arguments is None else list(arguments)
        name = f"mproto {parsed.command}"
        if parsed.command == "train" and os.environ.get("RANK", "0") != "0":  # only the first process prints
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
        parsed.run(parsed)
        sys.stdout.flush()
    except (MprotoError, OSError, KeyboardInterrupt) as error:
        if os.environ.get("MPROTO_DEBUG"):
            raise
        code, message = _explain(error)
        if message:
            sys.stderr.write(f"{name}: {message}\n")
        return code
    return 0


def _explain(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message for an error."""
    if isinstance(error, MprotoError):
        return error.exit_code, str(error)
    if isinstance(error, OSError):
        with suppress(OSError, ValueError):  # discard what is left in the buffer
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader closed the pipe, as `head` does
            return INTERRUPTED, ""
        return 1, f"{error.filename or 'output'}: {error.strerror}"
    return INTERRUPTED, "stopped; no output was written"


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mproto",
        description="Turn a term list and unlabelled text into a named-entity recogniser.",
        epilog="example:\n  mproto demo\n\nmproto COMMAND --help shows the arguments of a command and an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mproto {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        command = commands.add_parser(
            module.__name__.rpartition(".")[2],
            help=module.SUMMARY,
            description=_wrapped(module.DESCRIPTION),
            epilog=f"example:\n  {module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        command.set_defaults(run=module.run)
    return parser


def _wrapped(text: str) -> str:
    """Return a text with its paragraphs wrapped to the width of the terminal, at most 100 columns."""
    width = min(shutil.get_terminal_size().columns, 100) - 2
    return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in text.split("\n\n"))
