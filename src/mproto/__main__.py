"""The command `mproto`, and `python -m mproto`: loads the command line, and deals with Ctrl-C meanwhile."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line. Whoever presses Ctrl-C while it loads sees no traceback, since nothing has begun."""
    try:
        import signal

        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:  # an exception can be lost, and shown, by the machinery of imports
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        from mproto import cli

        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
    except KeyboardInterrupt:
        return INTERRUPTED
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
