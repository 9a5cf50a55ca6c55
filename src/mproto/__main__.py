"""The command `mproto`, also run as `python -m mproto`.

It loads the command line and handles Ctrl-C while loading.
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

        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:  # the import system can swallow an exception and print it
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        from mproto import cli

        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
    except KeyboardInterrupt:
        return INTERRUPTED
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
