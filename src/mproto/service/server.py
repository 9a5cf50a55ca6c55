"""The server process: its socket, its signals, and its shutdown."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from mproto.errors import InputError, MprotoError
from mproto.service.app import create_app
from mproto.service.logs import configure_logging, log
from mproto.service.served_model import ServedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto.recognizer import Recognizer
    from mproto.service.limits import Limits

KEEP_ALIVE = 75
"""Seconds that an idle connection stays open. The usual proxies close theirs earlier (60 seconds),
so that they never send a request on a connection that the service has just closed."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; port 0 is any free port.

    Raises:
        InputError: there is no such address, or it is in use.
    """
    if not 0 <= port <= 65535:
        raise InputError(f"--port {port} is not a valid port", hint="give 1 to 65535, or 0 for any free port")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(
            f"--host {host!r} is not an address of this machine", hint="give for example 127.0.0.1"
        ) from None
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(address)
    except OSError as error:
        found.close()
        hint = "give another --port, or 0 for any free port" if port else "give another --host"
        raise InputError(f"cannot listen on {host}, port {port} ({error.strerror})", hint=hint) from None
    return found


def address_of(listening: socket.socket) -> str:
    """Return the URL of a socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    load: Callable[[], Recognizer], name: str, listening: socket.socket, limits: Limits, token: str | None = None
) -> None:
    """Answer requests until SIGTERM, SIGINT or SIGHUP; then answer the waiting ones, and return.

    Args:
        load: loads the model.
        name: the name of the model in responses.
        listening: the socket of `listen`.
        limits: the limits of the service.
        token: the bearer token that clients must send, if any.

    Raises:
        MprotoError: the model cannot be loaded.
        KeyboardInterrupt: a second Ctrl-C stopped the service before all requests were answered.
    """
    configure_logging()
    served = ServedModel(load, name, limits, on_failure=lambda: setattr(server, "should_exit", True))
    config = uvicorn.Config(
        create_app(served, token),
        access_log=False,
        log_config=None,
        lifespan="on",
        ws="none",
        server_header=False,
        backlog=2048,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=round(limits.stop_seconds) or 1,
    )
    server = uvicorn.Server(config)
    _stop_at_hangup(server)
    log("listening", address=address_of(listening), model=name)
    try:
        server.run([listening])
    except KeyboardInterrupt:  # uvicorn raises the signal again after the shutdown
        if server.force_exit:
            raise
    if isinstance(served.failure, MprotoError | OSError):
        raise served.failure
    if served.failure is not None:
        raise MprotoError(f"the model cannot be loaded: {served.failure}") from served.failure
    log("stopped", model=name)


def _stop_at_hangup(server: uvicorn.Server) -> None:
    """Stop on SIGHUP too, which a closing terminal sends, unless the process ignores it (nohup)."""
    number = getattr(signal, "SIGHUP", None)
    if number is not None and signal.getsignal(number) is not signal.SIG_IGN:

        def stop(*_: object) -> None:
            server.should_exit = True

        signal.signal(number, stop)
