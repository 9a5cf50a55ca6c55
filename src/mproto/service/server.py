"""The process: a socket, signals, and an orderly end."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from mproto.errors import InputError, MprotoError
from mproto.service.app import create_app
from mproto.service.logs import log, write_logs
from mproto.service.served import Served

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto.recognizer import Recognizer
    from mproto.service.limits import Limits

KEEP_ALIVE = 75
"""Seconds that an idle connection stays open: longer than in usual proxies, which else send into one that just closed."""


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 is any free one.

    Raises:
        InputError: there is no such address, or it is taken.
    """
    if not 0 <= port <= 65535:
        raise InputError(f"--port {port} is no port", hint="give 1 to 65535, or 0 for any free one")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f"--host {host!r} is no address of this machine", hint="give 127.0.0.1, say") from None
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(address)
    except OSError as error:
        found.close()
        hint = "give another --port, 0 for any free one" if port else "give another --host"
        raise InputError(f"cannot listen at {host}, port {port} ({error.strerror})", hint=hint) from None
    return found


def address_of(listening: socket.socket) -> str:
    """Where it can be reached, for people."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    load: Callable[[], Recognizer], name: str, listening: socket.socket, limits: Limits, token: str | None = None
) -> None:
    """Answer requests until a signal comes; then answer what waits, and return.

    Args:
        load: gives the model.
        name: of the model, for callers.
        listening: where to listen.
        limits: of the service.
        token: what callers must send, if anything.

    Raises:
        MprotoError: the model cannot be loaded.
        KeyboardInterrupt: a second Ctrl-C did not let requests finish.
    """
    write_logs()
    served = Served(load, name, limits, on_failure=lambda: setattr(server, "should_exit", True))
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
    except KeyboardInterrupt:  # uvicorn raises the signal again when all is done
        if server.force_exit:
            raise
    if isinstance(served.failure, MprotoError | OSError):
        raise served.failure
    if served.failure is not None:
        raise MprotoError(f"the model cannot be loaded: {served.failure}") from served.failure
    log("stopped", model=name)


def _stop_at_hangup(server: uvicorn.Server) -> None:
    """A terminal that closes ends the service like any other signal, unless it runs under nohup."""
    number = getattr(signal, "SIGHUP", None)
    if number is not None and signal.getsignal(number) is not signal.SIG_IGN:

        def stop(*_: object) -> None:
            server.should_exit = True

        signal.signal(number, stop)
