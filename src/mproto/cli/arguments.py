"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError

if TYPE_CHECKING:
    import argparse

    from mproto.gazetteer import Gazetteer
    from mproto.text.formats import Options


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How to read documents."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--from", dest="read_format", metavar="FORMAT", help="format of the input (default: told by content)"
    )
    group.add_argument(
        "--scheme", choices=("io", "bio", "iob1", "bioes"), help="tagging scheme (default: told by the tags)"
    )
    group.add_argument("--bare-tags", action="store_true", help="a tag is just a label: PER, not B-PER or I-PER")
    group.add_argument(
        "--labels", metavar="A,B,…", default="", help="names of numbered labels, where the input has none"
    )
    group.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="stop at a wrong record, or leave it out and count",
    )


def options(parsed: argparse.Namespace) -> Options:
    from mproto.text.formats import Options

    return Options(
        scheme=parsed.scheme,
        bare_tags=parsed.bare_tags,
        labels=tuple(label for label in parsed.labels.split(",") if label),
        write_scheme=getattr(parsed, "tags", "bio"),
    )


def add_gazetteer(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--gazetteer", nargs="+", metavar="PATH|TYPE=FILE", default=[], help=help)


def load_gazetteer(values: list[str]) -> Gazetteer:
    """A folder of `TYPE.txt`, or any number of `TYPE=FILE`."""
    from mproto.gazetteer import Gazetteer

    if len(values) == 1 and "=" not in values[0]:
        return Gazetteer.load(values[0])
    files: dict[str, Any] = {}
    for value in values:
        type_, equals, file = value.partition("=")
        if not equals or not type_ or not file:
            raise InputError(
                f"--gazetteer {value!r} is not TYPE=FILE", hint="give one folder, or TYPE=FILE for each type"
            )
        files[type_] = Path(file)
    return Gazetteer.load(files)
