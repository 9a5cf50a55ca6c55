"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mproto.errors import InputError

if TYPE_CHECKING:
    import argparse

    from mproto.errors import Notes
    from mproto.gazetteer import Gazetteer, MatchOptions
    from mproto.inference.gazetteer_terms import Combination
    from mproto.text.formats import Options


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading documents."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--from", dest="read_format", metavar="FORMAT", help="format of the input (default: detected from its content)"
    )
    group.add_argument(
        "--scheme",
        choices=("io", "bio", "iob1", "bioes"),
        help="tagging scheme; bioes also reads BILOU (default: detected from the tags)",
    )
    group.add_argument("--bare-tags", action="store_true", help="tags have no prefix: PER, not B-PER or I-PER")
    group.add_argument(
        "--labels", metavar="A,B,…", default="", help="names of numbered labels, if the input does not name them"
    )
    group.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="stop at a wrong record (default), or skip and count it",
    )


def add_writing(parser: argparse.ArgumentParser) -> None:
    """Add the options for writing documents."""
    group = parser.add_argument_group("writing")
    group.add_argument(
        "--to", dest="write_format", metavar="FORMAT", help="format of the output (default: by the ending of its name)"
    )
    group.add_argument("--tags", choices=("bio", "io"), default="bio", help="tagging scheme to write (default: bio)")
    group.add_argument("--force", action="store_true", help="replace an existing output")


def options(parsed: argparse.Namespace) -> Options:
    """Return the options for reading and writing documents."""
    from mproto.text.formats import Options

    return Options(
        scheme=parsed.scheme,
        bare_tags=parsed.bare_tags,
        labels=tuple(label for label in parsed.labels.split(",") if label),
        write_scheme=getattr(parsed, "tags", "bio"),
    )


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    """Add the options of confidence intervals."""
    resamples = "bootstrap resamples (default: 1000; 0: none)"
    parser.add_argument("--bootstrap", type=int, default=1000, metavar="N", help=resamples)
    parser.add_argument("--seed", type=int, default=0, help="seed of the resampling (default: 0)")


def check_bootstrap(parsed: argparse.Namespace) -> None:
    if parsed.bootstrap < 0:
        raise InputError(f"--bootstrap {parsed.bootstrap} is negative", hint="give 0 or more")


def add_batch_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch-size", type=int, default=64, metavar="N", help="windows per batch (default: 64)")


def check_batch_size(parsed: argparse.Namespace) -> None:
    if parsed.batch_size < 1:
        raise InputError(f"--batch-size {parsed.batch_size} is not a number of windows", hint="give 1 or more")


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the option for the device."""
    parser.add_argument("--device", default="auto", metavar="NAME", help="auto (the GPU, if any), cpu, cuda or cuda:N")


def add_gazetteer(parser: argparse.ArgumentParser, help: str, *, required: bool = False) -> None:
    """Add the options for loading a gazetteer."""
    group = parser.add_argument_group("gazetteer")
    group.add_argument("--gazetteer", nargs="+", metavar="PATH|TYPE=FILE", default=[], required=required, help=help)
    group.add_argument(
        "--columns", metavar="A,B,…", default="", help="columns of a table without a header: term, type, …"
    )
    group.add_argument("--language", metavar="CODE", help="language of the labels to read from a SKOS vocabulary")


def add_combination(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects how a model and a gazetteer are combined."""
    parser.add_argument(
        "--combine",
        choices=("off", "union", "prefer-gazetteer", "terms"),
        help="how to combine the model with --gazetteer: find terms too, and prefer them where the two disagree "
        "(prefer-gazetteer); find terms only where the model finds nothing (union); use the model alone (off); find only "
        "terms (terms). Default: as recommended in training; prefer-gazetteer for models without a recommendation",
    )


def combination(parsed: argparse.Namespace) -> Combination | None:
    """Return how the model and the gazetteer are combined; `None` for the recommendation of training."""
    if parsed.combine and not parsed.gazetteer:
        raise InputError(f"--combine {parsed.combine} needs a gazetteer", hint="pass --gazetteer, too")
    chosen: Combination | None = parsed.combine
    return chosen


def combined(parsed: argparse.Namespace, recommended: Combination | None) -> str:
    """Describe in words what finds the entities: the model, the gazetteer, or both.

    Args:
        parsed: the arguments of the command.
        recommended: `Recognizer.recommended_combination`.
    """
    from mproto.inference.gazetteer_terms import WITHOUT_RECOMMENDATION

    if not parsed.gazetteer:
        return "model"
    given = combination(parsed)
    way = given or recommended or WITHOUT_RECOMMENDATION
    alone = {"off": "model without gazetteer", "terms": "gazetteer without model"}
    found_by = alone.get(way, f"model and gazetteer ({way})")
    return found_by if given or not recommended else f"{found_by}, as recommended in training"


def load_gazetteer(parsed: argparse.Namespace, notes: Notes | None = None) -> Gazetteer:
    """Load the gazetteer: a file, a folder of `TYPE.txt`, or any number of `TYPE=FILE`."""
    from mproto.gazetteer import Gazetteer

    fraction: float | None = getattr(parsed, "fraction", None)
    if fraction is not None and not 0 < fraction <= 1:
        raise InputError(f"--fraction {fraction} is not a fraction", hint="give a number above 0, and at most 1")
    values: list[str] = parsed.gazetteer
    source: str | dict[str, list[Path | str]] = values[0]
    if len(values) > 1 or "=" in values[0]:
        source = {}
        for value in values:
            type_, equals, file = value.partition("=")
            if not equals or not type_ or not file:
                hint = "give one folder or file, or TYPE=FILE for each type"
                raise InputError(f"--gazetteer {value!r} is not TYPE=FILE", hint=hint)
            source.setdefault(type_, []).append(file)
    columns = tuple(name.strip() for name in parsed.columns.split(",") if name.strip())
    gazetteer = Gazetteer.load(source, columns=columns, language=parsed.language, notes=notes)
    return gazetteer if fraction is None else gazetteer.head(fraction)


def add_lookup(parser: argparse.ArgumentParser) -> None:
    """Add the options for looking terms up."""
    group = parser.add_argument_group("lookup")
    group.add_argument(
        "--matching",
        choices=("default", "paper"),
        default="default",
        help="matching rules; paper: as in the MProto paper's data sets",
    )
    group.add_argument(
        "--fraction",
        type=float,
        metavar="P",
        help="use only the first int(P·n) + 1 of the n terms of each type, as in the paper",
    )
    group.add_argument(
        "--no-cache", action="store_true", help="do not cache the search index of a large gazetteer on disk"
    )


def add_matching(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the options for matching terms. With `several`, a term may keep several labels."""
    group = parser.add_argument_group("matching")
    group.add_argument(
        "--case",
        choices=("smart", "sensitive", "insensitive"),
        default="smart",
        help="smart (default): case matters for short terms, terms in capitals, and names",
    )
    group.add_argument(
        "--names",
        metavar="A,B,…",
        help="comma-separated types that are proper names: a capital at the start of a term's word must also be in the "
        "text; 'none': no type. Default: detected from the documents that are matched; with a model, as in training",
    )
    group.add_argument("--normalise", choices=("NFC", "NFKC", "none"), default="NFC", help="Unicode normalisation")
    group.add_argument("--plurals", action="store_true", help="match singular and plural forms too")
    group.add_argument("--hyphens", action="store_true", help="match forms with and without hyphens too")
    group.add_argument("--min-length", type=int, default=1, metavar="N", help="skip terms shorter than N characters")
    group.add_argument("--stop", type=Path, metavar="FILE", help="a file of terms to skip, one per line")
    group.add_argument(
        "--ambiguous",
        choices=("drop", "first", "keep-all") if several else ("drop", "first"),
        default="drop",
        help="what a term listed under several types gets: drop (default): no label; first: its first type"
        + "; keep-all: all its types" * several,
    )
    group.add_argument(
        "--priority",
        metavar="A,B,…",
        default="",
        help="types in order of precedence for terms with several types",
    )


def match_options(parsed: argparse.Namespace) -> MatchOptions:
    """Return the options for matching terms."""
    from mproto.gazetteer import MatchOptions
    from mproto.io.sources import Source

    stop = [line.strip() for _, line in Source(parsed.stop).lines()] if parsed.stop else []
    chosen = MatchOptions(
        case=parsed.case,
        names=None if parsed.names is None else frozenset(_listed(parsed.names)) - {"none"},
        normalise=parsed.normalise,
        plurals=parsed.plurals,
        hyphens=parsed.hyphens,
        min_length=parsed.min_length,
        stop=frozenset(filter(None, stop)),
        ambiguous=parsed.ambiguous,
        priority=_listed(parsed.priority),
    )
    if chosen != MatchOptions() and not parsed.gazetteer:
        raise InputError("matching options need a gazetteer", hint="pass --gazetteer, too")
    return chosen


def _listed(given: str) -> tuple[str, ...]:
    """Split `A,B,…` into names."""
    return tuple(name.strip() for name in given.split(",") if name.strip())
