"""The queue of the model: batches, disconnected clients, failing texts, and a full queue."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mproto.service.batching import MOST_PADDING, WINDOW, Item, split_by_length
from services import Fake, Running, problem, running, until


async def ask(client: httpx.AsyncClient, *texts: str) -> httpx.Response:
    return await client.post("/v1/entities", json={"texts": list(texts)})


async def block_model(service: Running, client: httpx.AsyncClient) -> asyncio.Task[httpx.Response]:
    """Send a request that keeps the model busy until `go` is set."""
    service.model.go.clear()
    calls = len(service.model.calls)
    first = asyncio.ensure_future(ask(client, "First"))
    await until(lambda: len(service.model.calls) > calls)
    return first


def test_waiting_requests_share_a_batch() -> None:
    with running(batch=8, wait=0) as service:

        async def talk(client: httpx.AsyncClient) -> None:
            first = await block_model(service, client)
            others = [asyncio.ensure_future(ask(client, f"Text{i}")) for i in range(10)]
            await until(lambda: service.served.batcher.waiting == 10)
            service.model.go.set()
            assert (await first).json()["entities"][0][0]["word"] == "First"
            for response in await asyncio.gather(*others):
                assert response.json()["entities"][0][0]["word"] == "Text"

        service.call(talk)
        assert [len(call) for call in service.model.calls[1:]] == [1, 8, 2]
        page = service.get("/metrics").text
        assert 'mproto_batch_texts_bucket{le="8.0"} 3.0' in page
        assert 'mproto_requests_total{code="200",path="/v1/entities"} 11.0' in page
        assert "mproto_texts_total 11.0" in page
        assert "mproto_characters_total 55.0" in page
        assert "mproto_queue_texts 0.0" in page


def test_a_batch_is_limited_in_characters() -> None:
    with running(batch_characters=10, wait=0) as service:

        async def talk(client: httpx.AsyncClient) -> None:
            first = await block_model(service, client)
            others = asyncio.ensure_future(ask(client, *["abcd"] * 4, "a" * 50, "b"))
            await until(lambda: service.served.batcher.waiting == 6)
            service.model.go.set()
            await asyncio.gather(first, others)

        service.call(talk)
        assert service.model.calls[2:] == [["abcd"] * 2, ["abcd"] * 2, ["a" * 50], ["b"]]


def test_texts_of_cancelled_requests_are_dropped() -> None:
    with running(wait=0) as service:

        async def talk(client: httpx.AsyncClient) -> None:
            first = await block_model(service, client)
            gone = [asyncio.ensure_future(ask(client, "Gone")) for _ in range(3)]
            stays = asyncio.ensure_future(ask(client, "Stays"))
            await until(lambda: service.served.batcher.waiting == 4)
            for task in gone:
                task.cancel()
            await asyncio.gather(*gone, return_exceptions=True)
            first.cancel()  # its text is being tagged
            service.model.go.set()
            assert (await stays).json()["entities"][0][0]["word"] == "Stays"

        service.call(talk)
        assert service.model.calls[2:] == [["Stays"]]
        assert 'code="499",path="/v1/entities"} 4.0' in service.get("/metrics").text


def test_texts_of_disconnected_clients_are_dropped() -> None:
    """A server sends `http.disconnect`; it does not cancel the task."""
    with running(wait=0) as service:
        disconnect = asyncio.Event()

        async def send(message: object) -> None:
            raise AssertionError("a response was sent to a disconnected client")

        async def talk(client: httpx.AsyncClient) -> None:
            parts = iter([{"type": "http.request", "body": b'{"text": "Gone"}', "more_body": False}])

            async def receive() -> dict[str, object]:
                for part in parts:
                    return part
                await disconnect.wait()
                return {"type": "http.disconnect"}

            first = await block_model(service, client)
            scope = {"type": "http", "method": "POST", "path": "/v1/entities", "headers": [], "query_string": b""}
            gone = asyncio.ensure_future(service.app(scope, receive, send))
            await until(lambda: service.served.batcher.waiting == 1)
            disconnect.set()
            done, _ = await asyncio.wait({gone}, timeout=5)  # asyncio.wait_for would cancel the task
            assert done
            service.model.go.set()
            assert (await first).status_code == 200
            assert (await ask(client, "Next")).status_code == 200

        service.call(talk)
        assert service.model.calls[2:] == [["Next"]]


def test_a_text_that_the_model_fails_on_fails_alone() -> None:
    with running(wait=0) as service:

        async def talk(client: httpx.AsyncClient) -> None:
            first = await block_model(service, client)
            texts = ("Good", "boom", "Well")
            others = [asyncio.ensure_future(ask(client, text)) for text in texts]
            mixed = asyncio.ensure_future(ask(client, "Good", "boom"))
            await until(lambda: service.served.batcher.waiting == 5)
            service.model.go.set()
            assert (await first).status_code == 200
            good, bad, well = await asyncio.gather(*others)
            assert (good.status_code, well.status_code) == (200, 200)
            for response in (bad, await mixed):
                message = problem(response, 500)
                assert response.headers["x-request-id"] in message
                assert "boom" not in message
            assert (await ask(client, "After")).status_code == 200

        service.call(talk)


def test_a_full_queue_refuses_requests() -> None:
    with running(queue=4, texts=4, queue_characters=30, wait=0) as service:

        async def talk(client: httpx.AsyncClient) -> None:
            first = await block_model(service, client)
            waiting = asyncio.ensure_future(ask(client, "Aa", "Bb", "Cc"))
            await until(lambda: service.served.batcher.waiting == 3)
            refused = await ask(client, "Dd", "Ee")
            assert "3 texts with 6 characters are waiting, and the limits are 4 texts and 30" in problem(refused, 429)
            assert int(refused.headers["retry-after"]) >= 1
            assert problem(await ask(client, "D" * 25), 429)
            service.model.go.set()
            assert (await first).status_code == (await waiting).status_code == 200
            assert (await ask(client, "D" * 40)).status_code == 200  # an empty queue accepts any request

        service.call(talk)


def test_stopping_answers_waiting_requests() -> None:
    with running(batch=2, wait=0) as service:

        async def talk(client: httpx.AsyncClient) -> None:
            first = await block_model(service, client)
            others = [asyncio.ensure_future(ask(client, "Text")) for _ in range(5)]
            batcher = service.served.batcher
            await until(lambda: batcher.waiting == 5)
            stopping = asyncio.ensure_future(asyncio.to_thread(service.served.stop))
            await until(lambda: service.served.state == "stopping")
            assert "stopping" in problem(await client.get("/health/ready"), 503)
            assert "stopping" in problem(await ask(client, "Late"), 503)
            service.model.go.set()
            await stopping
            assert [r.status_code for r in await asyncio.gather(first, *others)] == [200] * 6

        service.call(talk)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 2000), max_size=20))
def test_parts_of_a_batch_have_little_padding(lengths: list[int]) -> None:
    items = [Item(None, place, "a" * length) for place, length in enumerate(lengths)]  # type: ignore[arg-type]
    parts = list(split_by_length(items))
    assert sorted(item.place for part in parts for item in part) == list(range(len(lengths)))
    for part in parts:
        sizes = [min(len(item.text), WINDOW) for item in part]
        assert max(sizes) * len(sizes) - sum(sizes) <= MOST_PADDING


def test_short_texts_are_not_padded_to_long_ones() -> None:
    items = [Item(None, 0, "a" * 5000), *(Item(None, i, "b" * 30) for i in range(1, 9))]  # type: ignore[arg-type]
    assert [len(part) for part in split_by_length(items)] == [8, 1]


@pytest.mark.parametrize("answers", [0, 2])
def test_a_model_that_returns_too_few_or_too_many_results(answers: int) -> None:
    class Odd(Fake):
        def __call__(self, texts: list[str]) -> list[list[dict[str, object]]]:
            return [[]] * (answers if texts == ["odd"] else len(texts))

    with running(Odd()) as service:
        problem(service.post({"text": "odd"}), 500)
        assert service.post({"text": "even"}).status_code == 200
