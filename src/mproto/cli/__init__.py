"""The command line: one file per command, which declares its arguments and calls one function."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from mproto import __version__
from mproto.cli import convert, demo, formats, score
from mproto.errors import MprotoError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

COMMANDS = (demo, convert, score, formats)
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 the work failed, 2 the input or the call is wrong."""
    signal.signal(signal.SIGTERM, _stop)
    parsed = _parser().parse_args(arguments)
    try:
        parsed.run(parsed)
        sys.stdout.flush()
    except MprotoError as error:
        if os.environ.get("MPROTO_DEBUG"):
            raise
        sys.stderr.write(f"mproto {parsed.command}: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write(f"mproto {parsed.command}: stopped; no output was written\n")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    return 0


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mproto",
        description="Turn a term list and unlabelled text into a named-entity recogniser.",
        epilog="example:\n  mproto demo\n\nmproto COMMAND --help shows what a command takes, with an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mproto {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        command = commands.add_parser(
            module.__name__.rpartition(".")[2],
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=f"example:\n  {module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        command.set_defaults(run=module.run)
    return parser
