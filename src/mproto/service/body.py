"""The body of a request, never more of it in memory than is allowed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from mproto.service.problems import ProblemError

if TYPE_CHECKING:
    from starlette.types import Receive

    from mproto.service.limits import Limits

DISCARDED = 8
"""How many times the limit is read and thrown away, so that a caller who sends too much can still read the answer."""
DISCARD_SECONDS = 2.0


class GoneError(Exception):
    """The caller hung up."""


async def read_body(receive: Receive, limits: Limits) -> bytes:
    """All bytes of the body, whether or not their number was announced.

    Raises:
        ProblemError: there are too many, or they take too long.
        GoneError: the caller hung up meanwhile.
    """
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _read(receive, limits.body)
    except TimeoutError:
        message = f"The body did not arrive within {limits.body_seconds:g} seconds; send it faster, or in parts."
        raise ProblemError(408, message, {"Connection": "close"}) from None


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > most:
            parts.clear()
            if more:
                await _discard(receive, most * DISCARDED)
            problem = f"The body has more than {most} bytes, the limit; send fewer or shorter texts at once."
            raise ProblemError(413, problem)
        parts.append(part)
    return b"".join(parts)


async def _discard(receive: Receive, most: int) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while most > 0:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise GoneError
                if not message.get("more_body", False):
                    return
                most -= len(message.get("body", b""))
