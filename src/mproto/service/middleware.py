"""The middleware of the application: request ids, token, logs, metrics and unexpected errors."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import time
from typing import TYPE_CHECKING, Any

from mproto.service.body import DisconnectedError
from mproto.service.logs import error_fields, log
from mproto.service.problems import CLIENT_CLOSED_REQUEST, ProblemError, internal_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mproto.service.metrics import Metrics

OPEN = ("/health/live", "/health/ready")
"""Paths that do not need a token: the health checks of container platforms cannot send one."""
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")


class RequestMiddleware:
    """Handle what all requests have in common, as plain ASGI.

    Starlette's middleware would add a task to each request.

    Args:
        app: the application.
        metrics: the metrics that count requests.
        token: the bearer token that clients must send, if any.
        paths: the paths of the service. All others are counted as `other`.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, token: str | None, paths: frozenset[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        id = given if _SANE_ID.fullmatch(given) else secrets.token_hex(8).encode()
        fields: dict[str, Any] = {"id": id.decode(), "method": scope["method"], "path": self._path(scope)}
        scope.setdefault("state", {})["log"] = fields
        code = 0

        async def send_with_id(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id)]
            await send(message)

        try:
            if (problem := self._refusal(scope["path"], headers)) is not None:
                await problem.response()(scope, receive, send_with_id)
            else:
                await self._app(scope, receive, send_with_id)
        except DisconnectedError:
            code = CLIENT_CLOSED_REQUEST
        except Exception as error:  # no request may end without a response
            fields |= error_fields(error)
            if not code:
                await internal_error(id.decode()).response()(scope, receive, send_with_id)
        except BaseException:  # cancelled: the client disconnected, or stopping took too long
            code = CLIENT_CLOSED_REQUEST
            raise
        finally:
            seconds = time.perf_counter() - began
            self._metrics.request(fields["path"], code, seconds)
            log("request", _level(scope["path"], code), **fields, code=code, milliseconds=round(1000 * seconds, 2))

    def _path(self, scope: Scope) -> str:
        return scope["path"] if scope["path"] in self._paths else "other"

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> ProblemError | None:
        if self._token is None or path in OPEN:
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token):
            return None
        problem = "wrong" if b"authorization" in headers else "missing"
        message = (
            f'The token is {problem}; send the header "Authorization: Bearer TOKEN" with the token of this service.'
        )
        return ProblemError(401, message, {"WWW-Authenticate": "Bearer"})


def _level(path: str, code: int) -> int:
    """Return the log level of a request.

    Health checks, which come every few seconds, are not logged by default.
    """
    return logging.ERROR if code == 500 else logging.DEBUG if path in OPEN else logging.INFO
