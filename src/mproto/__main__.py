"""The command `mproto`, also run as `python -m mproto`.

This module loads the command line and handles Ctrl-C during loading.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line.

    Ctrl-C during loading exits without a traceback, since no work has begun.
    """
    try:
        import signal

        previous = signal.getsignal(signal.SIGINT)
        if previous is signal.default_int_handler:  # the import system can swallow an exception and print it
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        from mproto import cli

        if previous is signal.default_int_handler:
            signal.signal(signal.SIGINT, previous)
    except KeyboardInterrupt:
        return INTERRUPTED
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
