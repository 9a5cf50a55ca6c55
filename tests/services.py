"""A service in the test process: the real application around a fake model, which can fail, wait, and count its calls."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from mproto.config import Config
from mproto.service.app import create_app
from mproto.service.limits import Limits
from mproto.service.middleware import RequestMiddleware
from mproto.service.served_model import ServedModel

Entities = list[dict[str, Any]]


class Fake:
    """A model that finds capitalised words and fails on `boom`. Its calls wait while `go` is not set."""

    labels = ("Chemical", "Disease")
    card: dict[str, Any] = {"gazetteer": "terms"}
    config = Config()

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, texts: list[str]) -> list[Entities]:
        self.calls.append(list(texts))
        assert self.go.wait(20)
        if any("boom" in text for text in texts):
            raise RuntimeError(f"cannot read {texts}")
        return [self.entities(text) for text in texts]

    def entities(self, text: str) -> Entities:
        found = enumerate(re.finditer("[A-Z][a-z]+", text))
        return [
            {
                "entity_group": self.labels[number % 2],
                "score": 1 / (1 + number),
                "word": match[0],
                "start": match.start(),
                "end": match.end(),
            }
            for number, match in found
        ]


class Running:
    """A service; its model is loaded when `served.start` is called."""

    def __init__(self, model: Any, limits: Limits, token: str | None) -> None:
        self.model = model
        self.served = ServedModel(lambda: model, "my-model", limits)
        self.app: RequestMiddleware = create_app(self.served, token)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=30) as client:
            yield client

    def call(self, talk: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
        """Run a conversation with the service, and return its result."""

        async def whole() -> Any:
            async with self.client() as client:
                return await talk(client)

        return asyncio.run(asyncio.wait_for(whole(), 20))

    def post(self, asked: Any = None, **options: Any) -> httpx.Response:
        """Send one request for entities."""
        options = options or {"json": asked}
        return self.call(lambda client: client.post("/v1/entities", **options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.call(lambda client: client.get(path, **options))


@contextmanager
def running(model: Any = None, token: str | None = None, **limits: float) -> Iterator[Running]:
    service = Running(model or Fake(), Limits(**limits), token)  # type: ignore[arg-type]
    service.served.start()
    service.served.wait()
    try:
        yield service
    finally:
        service.served.stop()


@contextmanager
def plain_logs() -> Iterator[None]:
    """Undo the changes that a service makes to loggers."""
    loggers = [logging.getLogger(name) for name in ("mproto.service", "uvicorn", "asyncio")]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    try:
        yield
    finally:
        for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, for 10 seconds at most."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.002)


def problem(response: httpx.Response, status: int) -> str:
    """Check the form of an error response, and return its message."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert set(response.json()) == {"error"}
    assert set(response.json()["error"]) == {"code", "message"}
    return response.json()["error"]["message"]
