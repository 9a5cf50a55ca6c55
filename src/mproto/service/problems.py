"""Error responses. All have the same form, and their messages say how to correct the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

CODES = {
    401: "no_token",
    404: "not_found",
    405: "wrong_method",
    408: "body_too_slow",
    413: "body_too_large",
    422: "wrong_request",
    429: "queue_full",
    500: "failed",
    503: "not_ready",
}
CLIENT_CLOSED_REQUEST = 499
"""The client disconnected. Only used in logs and metrics; nginx uses the same status."""


class ProblemError(Exception):
    """An error response, `{"error": {"code", "message"}}`.

    Args:
        status: its HTTP status.
        message: what is wrong, with the value, and what to do. It never quotes a text of the
            client.
        headers: its headers.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> Response:
        content = {"error": {"code": CODES.get(self.status, "failed"), "message": self.message}}
        return Response(orjson.dumps(content), self.status, self.headers, "application/json")


def not_ready(state: str) -> ProblemError:
    """Return the problem of a service that is still loading its model, or is stopping."""
    return ProblemError(503, f"The service is {state}; try again in a few seconds.", {"Retry-After": "5"})


def internal_error(id: str, part: str = "service") -> ProblemError:
    """Return the problem of an unexpected error.

    Its details are only in the log, because they may quote a text.
    """
    return ProblemError(500, f"The {part} failed on this request; see the log, request id {id}.")
