"""`python -m mproto`."""

import sys

from mproto.cli import main

sys.exit(main())
