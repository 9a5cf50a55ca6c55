"""`mproto serve`: serve a model over HTTP."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import (
    add_combination,
    add_device,
    add_gazetteer,
    add_matching,
    combination,
    combined,
    load_gazetteer,
    match_options,
)
from mproto.cli.console import print_json, print_notes
from mproto.errors import InputError, MissingExtraError, Notes

if TYPE_CHECKING:
    import argparse

    from mproto.inference.gazetteer_terms import Combination
    from mproto.recognizer import Recognizer

SUMMARY = "answer HTTP requests with a trained model"
DESCRIPTION = """Serve a model over HTTP: POST /v1/entities with {"text": "…"} or {"texts": ["…",
…]} returns the entities; see /docs for the rest. Texts of simultaneous requests are tagged in
one batch. With --gazetteer, the entities come from the model, the gazetteer's terms, or both: by
default, from what training recommended (--combine changes that).

SIGTERM or Ctrl-C stops the service after the waiting requests are answered. The log on standard
error consists of JSON lines and contains no text of requests. The address is printed on standard
output."""
EXAMPLE = "mproto serve my-run --port 8000"
LIMITS = (
    ("body", "N", int, "maximum number of bytes in a request"),
    ("texts", "N", int, "maximum number of texts in a request"),
    ("characters", "N", int, "maximum number of characters in a text"),
    ("queue", "N", int, "maximum number of texts in the queue; further requests get status 429"),
    ("queue_characters", "N", int, "maximum number of characters in the queue"),
    ("batch", "N", int, "maximum number of texts in a batch"),
    ("batch_characters", "N", int, "maximum number of characters in a batch"),
    ("wait", "MS", float, "time to wait for other texts of a batch while the model is idle, in milliseconds"),
    ("body_seconds", "S", float, "longest time for a request body to arrive, in seconds"),
    ("stop_seconds", "S", float, "longest time to answer waiting requests when the service stops, in seconds"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from mproto.service.limits import Limits, option

    parser.add_argument("model", metavar="MODEL", help="a model, or the folder of a training run")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="NAME", help="address to listen on (default: %(default)s)"
    )
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port; 0 for any free port (default: 8000)")
    parser.add_argument(
        "--token",
        metavar="TOKEN",
        help="bearer token that clients must send; MPROTO_TOKEN in the environment is safer",
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="CPU threads for the model (default: chosen by the library)"
    )
    add_device(parser)
    add_gazetteer(parser, "terms to use together with the model")
    add_combination(parser)
    add_matching(parser)
    group = parser.add_argument_group("limits")
    for name, metavar, type_, what in LIMITS:
        default = getattr(Limits, name)
        group.add_argument(
            option(name), dest=name, type=type_, default=default, metavar=metavar, help=f"{what} (default: {default:,})"
        )


def run(parsed: argparse.Namespace) -> None:
    from mproto.service.limits import Limits

    limits = Limits(**{name: getattr(parsed, name) for name, *_ in LIMITS})
    token = _token(parsed.token)
    way, matching = combination(parsed), match_options(parsed)
    _use_threads(parsed.threads)
    try:
        from mproto.service.server import address_of, listen, serve
    except ModuleNotFoundError:
        raise MissingExtraError("serving a model", "serve") from None

    gazetteer = load_gazetteer(parsed) if parsed.gazetteer else None
    listening = listen(parsed.host, parsed.port)
    try:
        recommended = _check_model(parsed.model, fetch=gazetteer is not None and way is None)
    except InputError:
        listening.close()
        raise
    address = address_of(listening)
    if parsed.json:
        print_json({"address": address, "model": str(parsed.model), "found_by": combined(parsed, recommended)})
    else:
        sys.stdout.write(f"serving {parsed.model} at {address} (Ctrl-C stops it; see {address}/docs)\n")
        sys.stdout.write(f"entities are found by {combined(parsed, recommended)}\n" if parsed.gazetteer else "")
    if token is None and not listening.getsockname()[0].startswith(("127.", "::1")):
        sys.stderr.write("note: without --token, everyone who can reach this address can use the model\n")
    sys.stdout.flush()

    def load() -> Recognizer:
        from mproto.recognizer import Recognizer

        recognizer = Recognizer.from_pretrained(parsed.model, device=parsed.device)
        if gazetteer is None:
            return recognizer
        notes = Notes()
        combined_recognizer = recognizer.with_gazetteer(gazetteer, way, matching, notes)
        print_notes(notes)
        return combined_recognizer

    serve(load, Path(parsed.model).resolve().name, listening, limits, token)


def _check_model(name: str, *, fetch: bool) -> Combination | None:
    """Read the description of a model, and return the combination that its training recommended.

    An error about the model must not come after the address has been printed.

    Args:
        name: a folder, or a name on the Hugging Face hub.
        fetch: also fetch a model from the hub, which takes time. Without it, such a model has no recommendation.

    Raises:
        InputError: there is no such model, or it is damaged.
    """
    from mproto.persistence.card import recommended_combination
    from mproto.persistence.files import model_folder, read_description
    from mproto.persistence.hub import HUB_NAME, find_model

    folder = model_folder(Path(name))
    if not folder.exists() and HUB_NAME.fullmatch(name):
        if not fetch:
            return None
        folder = model_folder(find_model(name))
    return recommended_combination(read_description(folder).get("card") or {})


def _token(given: str | None) -> str | None:
    token = os.environ.get("MPROTO_TOKEN") or None if given is None else given
    if token is not None and (not token.isascii() or not token.isprintable() or not token or " " in token):
        raise InputError(
            "the token is empty, or contains spaces or non-ASCII characters", hint="use letters and digits"
        )
    return token


def _use_threads(threads: int | None) -> None:
    """Set the number of threads. The model's library reads it once, when it is imported."""
    if threads is None:
        return
    if threads < 1:
        raise InputError(f"--threads {threads} is not a number of threads", hint="give 1 or more")
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
