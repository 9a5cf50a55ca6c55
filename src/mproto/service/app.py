"""The application: which path does what."""

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
from mproto.service.body import GoneError, read_body
from mproto.service.description import describe
from mproto.service.docs_page import docs_page
from mproto.service.gate import Gate
from mproto.service.problems import ProblemError, failed, not_ready
from mproto.service.schemas import read_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive

    from mproto.service.batching import Entities
    from mproto.service.served import Served


def create_app(served: Served, token: str | None = None) -> Gate:
    """The service as an ASGI application.

    Args:
        served: the model; loaded when the application starts.
        token: what callers must send, if anything.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001
        served.start()
        yield
        await asyncio.to_thread(served.stop)

    app = FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.add_exception_handler(ProblemError, _explain)
    app.add_exception_handler(HTTPException, _explain_routing)
    app.add_exception_handler(Exception, _explain_failure)
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
    return Gate(app, served.metrics, token, frozenset(("/v1/entities", *pages)))


class Handlers:
    """What each path answers.

    They take the bare request and return bytes: what FastAPI would do for each (a model for every entity, say) costs
    more than a short text costs the network. The description is made from the same models, in `description.py`.
    """

    def __init__(self, served: Served, *, with_token: bool) -> None:
        self._served, self._with_token = served, with_token

    async def entities(self, request: Request) -> Response:
        """The entities of a text, or of each of several."""
        served = self._served
        batcher = served.batcher
        asked = read_request(await read_body(request.receive, served.limits), served.limits, served.labels)
        texts = asked.all_texts
        try:
            found = await _unless_gone(batcher.submit(texts), request.receive)
        except ModelError as error:
            request.state.log["error"] = str(error)
            raise failed(request.state.log["id"], "model") from None
        if asked.threshold or asked.types:
            least = thresholds(asked.threshold, served.labels)
            types = frozenset(asked.types or least)
            found = [
                [e for e in of if (type_ := e["entity_group"]) in types and e["score"] >= least[type_]] for of in found
            ]
        figures = {"texts": len(texts), "characters": sum(map(len, texts)), "entities": sum(map(len, found))}
        served.metrics.tagged(**figures)
        request.state.log.update(figures)
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
        return _json(self._description())

    async def docs(self, request: Request) -> Response:  # noqa: ARG002
        return HTMLResponse(docs_page(self._description()))

    def _description(self) -> dict[str, Any]:
        return describe(self._served.limits, self._served.labels, with_token=self._with_token)


async def _unless_gone(answer: asyncio.Future[list[Entities]], receive: Receive) -> list[Entities]:
    """The answer, given up as soon as the caller hangs up: nobody should wait behind texts that nobody wants."""
    listening = asyncio.ensure_future(_hang_up(receive))
    listening.add_done_callback(lambda _: answer.cancel())
    try:
        return await answer
    except asyncio.CancelledError:
        if listening.done():
            raise GoneError from None
        raise
    finally:
        listening.cancel()


async def _hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _json(content: Any) -> Response:
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


async def _explain(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, ProblemError)
    return error.response()


async def _explain_routing(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        return ProblemError(405, f"This path takes {allowed} only; /docs shows how.", error.headers).response()
    return ProblemError(
        error.status_code, "There is nothing here; /docs shows what there is.", error.headers
    ).response()


async def _explain_failure(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """For what nobody thought of. The error goes on to the gate, which logs it."""
    return failed(request.state.log["id"]).response()
