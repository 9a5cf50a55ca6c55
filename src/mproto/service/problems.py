"""Everything that can be wrong with a request: one shape for all, with a sentence that helps."""

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
GONE = 499  # never sent: the caller hung up; it is in logs and metrics, as other servers write it


class ProblemError(Exception):
    """A request that gets no entities: `{"error": {"code", "message"}}`.

    Args:
        status: of the answer.
        message: what is wrong, with the value, and what to do; never a text of the caller.
        headers: of the answer.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> Response:
        content = {"error": {"code": CODES.get(self.status, "failed"), "message": self.message}}
        return Response(orjson.dumps(content), self.status, self.headers, "application/json")


def not_ready(state: str) -> ProblemError:
    """The model is still being loaded, or the service stops."""
    return ProblemError(503, f"The service is {state}; try again in a few seconds.", {"Retry-After": "5"})


def failed(id: str, who: str = "service") -> ProblemError:
    """Something went wrong on our side; what exactly is in the log, since it may quote a text."""
    return ProblemError(500, f"The {who} failed on this request; the log has more, under the id {id}.")
