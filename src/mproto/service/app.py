"""The ASGI application: paths and their handlers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from mproto.inference.thresholds import thresholds
from mproto.service.batching import ModelError
from mproto.service.body import DisconnectedError, read_body
from mproto.service.docs_page import docs_page
from mproto.service.middleware import RequestMiddleware
from mproto.service.openapi import openapi_document
from mproto.service.problems import ProblemError, internal_error, not_ready
from mproto.service.schemas import read_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive

    from mproto.service.batching import Entities
    from mproto.service.served_model import ServedModel


def create_app(served: ServedModel, token: str | None = None) -> RequestMiddleware:
    """Return the service as an ASGI application.

    Args:
        served: the model; loading begins when the application starts.
        token: the bearer token that clients must send, if any.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001
        served.start()
        yield
        await asyncio.to_thread(served.stop)

    app = FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(HTTPException, _routing_problem)
    app.add_exception_handler(Exception, _failure)
    handlers = Handlers(served, with_token=token is not None)
    app.add_route("/v1/entities", handlers.entities, methods=["POST"])
    pages = {
        "/v1/model": handlers.model,
        "/health/live": handlers.live,
        "/health/ready": handlers.ready,
        "/metrics": handlers.metrics,
        "/openapi.json": handlers.openapi,
        "/docs": handlers.docs,
    }
    for path, handler in pages.items():
        app.add_route(path, handler, methods=["GET"])
    return RequestMiddleware(app, served.metrics, token, frozenset(("/v1/entities", *pages)))


class Handlers:
    """The handlers of all paths.

    They take the raw request and return bytes. FastAPI's own conversion builds a pydantic model for
    every entity, which takes longer than tagging a short text. The OpenAPI document is made from
    the same pydantic models (`openapi.py`).
    """

    def __init__(self, served: ServedModel, *, with_token: bool) -> None:
        self._served, self._with_token = served, with_token

    async def entities(self, request: Request) -> Response:
        """Return the entities of one text, or of each of several texts."""
        served = self._served
        batcher = served.batcher
        asked = read_request(await read_body(request.receive, served.limits), served.limits, served.labels)
        texts = asked.all_texts
        try:
            found = await _until_disconnect(batcher.submit(texts), request.receive)
        except ModelError as error:
            request.state.log["error"] = str(error)
            raise internal_error(request.state.log["id"], "model") from None
        if asked.threshold or asked.types:
            least = thresholds(asked.threshold, served.labels)
            types = frozenset(asked.types or least)
            found = [
                [e for e in entities if (type_ := e["entity_group"]) in types and e["score"] >= least[type_]]
                for entities in found
            ]
        counts = {"texts": len(texts), "characters": sum(map(len, texts)), "entities": sum(map(len, found))}
        served.metrics.tagged(**counts)
        request.state.log.update(counts)
        return _json({"model": served.name, "entities": found[0] if asked.is_one else found})

    async def model(self, request: Request) -> Response:  # noqa: ARG002
        return _json(self._served.info())

    async def live(self, request: Request) -> Response:  # noqa: ARG002
        return _json({"status": "live"})

    async def ready(self, request: Request) -> Response:  # noqa: ARG002
        if self._served.state != "ready":
            raise not_ready(self._served.state)
        return _json({"status": "ready"})

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002
        return Response(self._served.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        return _json(self._openapi())

    async def docs(self, request: Request) -> Response:  # noqa: ARG002
        return HTMLResponse(docs_page(self._openapi()))

    def _openapi(self) -> dict[str, Any]:
        return openapi_document(self._served.limits, self._served.labels, with_token=self._with_token)


async def _until_disconnect(answer: asyncio.Future[list[Entities]], receive: Receive) -> list[Entities]:
    """Wait for the entities.

    If the client disconnects, cancel the job, so that its texts leave the queue.
    """
    listening = asyncio.ensure_future(_disconnect(receive))
    listening.add_done_callback(lambda _: answer.cancel())
    try:
        return await answer
    except asyncio.CancelledError:
        if listening.done():
            raise DisconnectedError from None
        raise
    finally:
        listening.cancel()


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _json(content: Any) -> Response:
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


async def _problem(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, ProblemError)
    return error.response()


async def _routing_problem(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        return ProblemError(405, f"This path only accepts {allowed}; see /docs.", error.headers).response()
    return ProblemError(error.status_code, "There is no such path; see /docs.", error.headers).response()


async def _failure(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """Answer an unexpected error. Starlette raises it again, and the middleware logs it."""
    return internal_error(request.state.log["id"]).response()
