"""`mproto formats`: list the file formats."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mproto.cli.console import print_json

if TYPE_CHECKING:
    import argparse

    from mproto.text.formats import Format

SUMMARY = "list the file formats, with a sample of each"
DESCRIPTION = """List the file formats that can be read and written, with a sample of each and the
information that it cannot represent."""
EXAMPLE = "mproto formats conll"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="FORMAT", help="show only these formats")


def run(parsed: argparse.Namespace) -> None:
    from mproto.text.formats import formats, get_format

    chosen = [get_format(name) for name in parsed.names] or formats()
    if parsed.json:
        print_json({"formats": [_as_dict(format) for format in chosen]})
        return
    for format in chosen:
        lines = "\n".join(f"    {line}" for line in format.sample.split("\n"))
        needs = f"  needs: pip install 'mproto-ner[{format.extra}]'\n" if format.extra else ""
        missing = f"  cannot represent: {', '.join(_missing(format))}\n" if _missing(format) else ""
        endings = f"  ({' '.join(format.suffixes)})" if format.suffixes else ""
        sys.stdout.write(f"{format.name}{endings}\n  {format.title}\n{missing}{needs}{lines}\n\n")


def _as_dict(format: Format) -> dict[str, Any]:
    return {
        "name": format.name,
        "title": format.title,
        "endings": format.suffixes,
        "extra": format.extra,
        "folder": format.is_folder,
        "cannot_hold": _missing(format),
        "sample": format.sample,
    }


def _missing(format: Format) -> list[str]:
    """Return the kinds of information that the format cannot represent, in words."""
    from mproto.text.formats import Keeps

    names = {
        Keeps.TEXT: "original spacing",
        Keeps.WORDS: "given words",
        Keeps.SPANS: "spans",
        Keeps.OVERLAPS: "overlapping spans",
        Keeps.TOUCHING: "adjacent spans of one label",
        Keeps.GOLD: "gold spans next to distant spans",
        Keeps.IDS: "ids",
        Keeps.META: "metadata",
    }
    if Keeps.SPANS not in format.keeps:
        names = {keep: name for keep, name in names.items() if keep not in Keeps.OVERLAPS | Keeps.TOUCHING}
    return [name for keep, name in names.items() if keep not in format.keeps]
