"""What the command lines of tables and figures have in common."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from experiments.cells import require_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def arguments(
    about: str | None, usual: Mapping[str, list[int]] | None = None, **parts: Iterable[str | int]
) -> argparse.Namespace:
    """Parse the command line: `--render`, and for each part of the work which of its pieces to do: the usual ones, or all.

    The data must be there, unless what is done is only to be shown.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, pieces in parts.items():
        choices = list(pieces)
        parser.add_argument(
            f"--{name}", nargs="+", type=type(choices[0]), choices=choices, default=(usual or {}).get(name, choices)
        )
    parser.add_argument("--render", action="store_true", help="only show what is done")
    parsed = parser.parse_args()
    if not parsed.render:
        require_data()
    return parsed
