"""What every request passes: its id, the token, one line in the log, the figures, and the last net under all errors."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import time
from typing import TYPE_CHECKING, Any

from mproto.service.body import GoneError
from mproto.service.logs import log, where
from mproto.service.problems import GONE, ProblemError, failed

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mproto.service.metrics import Metrics

OPEN = ("/health/live", "/health/ready")
"""Paths that need no token: whoever restarts services has none."""
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")


class Gate:
    """The outermost layer, in plain ASGI: it costs microseconds where a framework's middleware costs tasks.

    Args:
        app: what is behind it.
        metrics: where requests are counted.
        token: what callers must show, if anything.
        paths: those of the service; others are counted together.
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

        async def answer(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id)]
            await send(message)

        try:
            if (problem := self._refusal(scope["path"], headers)) is not None:
                await problem.response()(scope, receive, answer)
            else:
                await self._app(scope, receive, answer)
        except GoneError:
            code = GONE
        except Exception as error:  # nothing a caller sends may end in a traceback
            fields |= where(error)
            if not code:
                await failed(id.decode()).response()(scope, receive, answer)
        except BaseException:  # the task was cancelled: the caller hung up, or the time to stop is over
            code = GONE
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
        wrong = "is not the right one" if b"authorization" in headers else "is missing"
        message = f'The token {wrong}: send the header "Authorization: Bearer TOKEN" with that of this service.'
        return ProblemError(401, message, {"WWW-Authenticate": "Bearer"})


def _level(path: str, code: int) -> int:
    """Failures stand out; that somebody asked every second whether we are ready does not."""
    return logging.ERROR if code == 500 else logging.DEBUG if path in OPEN else logging.INFO
