"""The command line that all experiments share."""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING

from experiments.cells import percent, require_data
from experiments.page import write_section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from experiments.cells import Cell


def run_command(
    about: str | None,
    section: str,
    render: Callable[[], str],
    cell: Callable[..., Cell | None],
    *,
    usual: Mapping[str, list[int]] | None = None,
    **parts: Iterable[str | int],
) -> None:
    """Parse the command line, run the cells that it selects, and write the section of RESULTS.md.

    Args:
        about: the help text.
        section: the heading of the section.
        render: return the text of the section, from the cells that are done.
        cell: run one cell, or load it if it is done. Called with one value of each part. It
            returns nothing for a combination that does not exist.
        usual: the default values of a part; all of its values otherwise.
        parts: the values that each option accepts. `data=("a", "b")` adds `--data a b`.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, pieces in parts.items():
        choices = list(pieces)
        parser.add_argument(
            f"--{name}", nargs="+", type=type(choices[0]), choices=choices, default=(usual or {}).get(name, choices)
        )
    parser.add_argument("--render", action="store_true", help="write the section from the cells that are done")
    parsed = parser.parse_args()
    if not parsed.render:
        require_data()
        for chosen in product(*(getattr(parsed, name) for name in parts)):
            if found := cell(*chosen):
                scores = {split: percent(found, split) for split in ("dev", "test", "with_gazetteer") if split in found}
                print(*chosen, scores or "done", flush=True)
    write_section(section, render())
