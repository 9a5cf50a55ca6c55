"""Read the body of a request without keeping more of it in memory than the limit allows."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from mproto.service.problems import ProblemError

if TYPE_CHECKING:
    from starlette.types import Receive

    from mproto.service.limits import Limits

DISCARDED = 8
"""After a body that is too large, up to this many times the limit is read and discarded. Many
clients read the response only when they have sent the whole body."""
DISCARD_SECONDS = 2.0
"""The maximum time for reading and discarding."""


class DisconnectedError(Exception):
    """The client disconnected."""


async def read_body(receive: Receive, limits: Limits) -> bytes:
    """Return the body.

    Its bytes are counted as they arrive; the Content-Length header is not trusted.

    Raises:
        ProblemError: the body is too large, or takes too long.
        DisconnectedError: the client disconnected.
    """
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _read(receive, limits.body)
    except TimeoutError:
        message = f"The body did not arrive within {limits.body_seconds:g} seconds; send fewer texts in one request."
        raise ProblemError(408, message, {"Connection": "close"}) from None


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > most:
            parts.clear()
            if more:
                await _discard(receive, most * DISCARDED)
            problem = f"The body has more than {most} bytes; send fewer or shorter texts in one request."
            raise ProblemError(413, problem)
        parts.append(part)
    return b"".join(parts)


async def _discard(receive: Receive, most: int) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while most > 0:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise DisconnectedError
                if not message.get("more_body", False):
                    return
                most -= len(message.get("body", b""))
