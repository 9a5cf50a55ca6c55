"""`mproto serve`: a model behind HTTP."""

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
    load_gazetteer,
    match_options,
)
from mproto.cli.console import print_json
from mproto.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import argparse

    from mproto.recognizer import Recognizer

SUMMARY = "answer HTTP requests with a trained model"
DESCRIPTION = """Serve a model: POST /v1/entities with {"text": "…"} or {"texts": ["…", …]} gives the entities; /docs shows
the rest. Texts of requests that come at the same time are tagged together. SIGTERM or Ctrl-C ends it when what waits is
answered. Logs are JSON lines on standard error, and hold no text. The address is printed on standard output."""
EXAMPLE = "mproto serve my-run --port 8000"
LIMITS = (
    ("body", "N", int, "bytes of a request"),
    ("texts", "N", int, "texts of a request"),
    ("characters", "N", int, "characters of a text"),
    ("queue", "N", int, "texts that may wait; more get 429"),
    ("queue_characters", "N", int, "characters of the texts that may wait"),
    ("batch", "N", int, "texts that the model reads together"),
    ("batch_characters", "N", int, "characters that it reads together"),
    ("wait", "MS", float, "milliseconds that a text waits for company while the model is idle"),
    ("body_seconds", "S", float, "seconds that a body may take to arrive"),
    ("stop_seconds", "S", float, "seconds that requests have to be answered once the service stops"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from mproto.service.limits import Limits, option

    parser.add_argument("model", metavar="MODEL", help="a model, or the folder of a training run")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="NAME", help="address to listen at (default: %(default)s)"
    )
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port, 0 for any free one (default: 8000)")
    parser.add_argument(
        "--token", metavar="TOKEN", help="what callers must send as a bearer token; better in the variable MPROTO_TOKEN"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the model (default: the library's choice)")
    add_device(parser)
    add_gazetteer(parser, "terms to find beside what the model finds, with --combine")
    add_combination(parser, "union")
    add_matching(parser)
    group = parser.add_argument_group("limits")
    for name, metavar, type_, what in LIMITS:
        default = getattr(Limits, name)
        group.add_argument(
            option(name), dest=name, type=type_, default=default, metavar=metavar, help=f"{what} (default: {default:,})"
        )


def run(parsed: argparse.Namespace) -> None:
    from mproto.persistence.files import recover_model
    from mproto.persistence.hub import HUB_NAME
    from mproto.service.limits import Limits

    limits = Limits(**{name: getattr(parsed, name) for name, *_ in LIMITS})
    token = _token(parsed.token)
    way, matching = combination(parsed), match_options(parsed)
    _use_threads(parsed.threads)
    try:
        from mproto.service.server import address_of, listen, serve
    except ModuleNotFoundError:
        raise MissingExtraError("serving a model", "serve") from None

    recover_model(Path(parsed.model))
    if not Path(parsed.model).is_dir() and not HUB_NAME.fullmatch(parsed.model):
        raise InputError("is no folder", path=parsed.model, hint="name a model, or the folder of a training run")
    gazetteer = load_gazetteer(parsed) if parsed.gazetteer else None
    listening = listen(parsed.host, parsed.port)
    address = address_of(listening)
    if parsed.json:
        print_json({"address": address, "model": str(parsed.model)})
    else:
        sys.stdout.write(f"serving {parsed.model} at {address} (Ctrl-C ends it; {address}/docs says more)\n")
    if token is None and not listening.getsockname()[0].startswith(("127.", "::1")):
        sys.stderr.write("note: without --token, everybody who reaches this address can use the model\n")
    sys.stdout.flush()

    def load() -> Recognizer:
        from mproto.recognizer import Recognizer

        recognizer = Recognizer.from_pretrained(parsed.model).to(parsed.device)
        return recognizer if gazetteer is None else recognizer.with_gazetteer(gazetteer, way, matching)

    serve(load, Path(parsed.model).resolve().name, listening, limits, token)


def _token(given: str | None) -> str | None:
    token = os.environ.get("MPROTO_TOKEN") or None if given is None else given
    if token is not None and (not token.isascii() or not token.isprintable() or not token or " " in token):
        raise InputError("the token is empty, or has blanks or other signs than ASCII", hint="give letters and digits")
    return token


def _use_threads(threads: int | None) -> None:
    """Before the library of the model is imported, which reads this once."""
    if threads is None:
        return
    if threads < 1:
        raise InputError(f"--threads {threads} is not a number of threads", hint="give 1 or more")
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
