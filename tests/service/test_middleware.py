"""Around the application: size limits, the token, request ids, logs, and error responses."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from mproto.errors import InputError
from mproto.service import body
from mproto.service.limits import Limits
from mproto.service.logs import configure_logging
from mproto.service.problems import ProblemError
from mproto.service.served_model import ServedModel
from services import Fake, Running, plain_logs, problem, running


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The logs."""
    stream = io.StringIO()
    with plain_logs():
        configure_logging(stream)
        yield stream


async def chunks(size: int) -> AsyncIterator[bytes]:
    yield b'{"text": "'
    for _ in range(size // 1000):
        yield b"a" * 1000
    yield b'"}'


@pytest.mark.parametrize("size", [3000, 9000, 90_000])
def test_bodies_that_are_too_large(size: int) -> None:
    with running(body=2000) as service:
        for content in (b"a" * size, chunks(size)):
            message = problem(service.post(content=content), 413)
            assert "more than 2000 bytes" in message
        assert service.post(content=chunks(1000)).status_code == 200


def test_only_a_part_of_a_large_body_is_read() -> None:
    read = 0

    async def receive() -> dict[str, object]:
        nonlocal read
        read += 100
        return {"type": "http.request", "body": b"a" * 100, "more_body": True}

    with pytest.raises(ProblemError):
        asyncio.run(body.read_body(receive, Limits(body=1000)))
    assert read < 1000 * (body.DISCARDED + 2)


def test_a_body_that_takes_too_long() -> None:
    async def receive() -> dict[str, object]:
        await asyncio.sleep(30)
        raise AssertionError

    limits = Limits()
    object.__setattr__(limits, "body_seconds", 0.05)
    with pytest.raises(ProblemError, match="did not arrive within 0.05 seconds") as error:
        asyncio.run(body.read_body(receive, limits))
    assert error.value.status == 408


def test_the_token() -> None:
    with running(token="s3cret") as service:

        def get(value: str | None, path: str = "/v1/model") -> httpx.Response:
            return service.get(path, headers={} if value is None else {"Authorization": value})

        assert get("Bearer s3cret").status_code == get("bearer s3cret").status_code == 200
        for wrong in ("Bearer s3cre", "Bearer s3cret2", "s3cret", "Basic s3cret", "Bearer", ""):
            response = get(wrong)
            assert "is wrong" in problem(response, 401)
            assert response.headers["www-authenticate"] == "Bearer"
        assert "is missing" in problem(get(None), 401)
        for path in ("/metrics", "/docs", "/openapi.json", "/nowhere"):
            problem(get(None, path), 401)
        assert get(None, "/health/live").status_code == get(None, "/health/ready").status_code == 200
        problem(service.post({"text": "a"}), 401)
        assert len(service.model.calls) == 1


def test_other_paths_and_methods() -> None:
    with running() as service:
        problem(service.get("/nowhere"), 404)
        response = service.get("/v1/entities")
        assert "only accepts POST" in problem(response, 405)
        assert response.headers["allow"] == "POST"
        assert 'mproto_requests_total{code="404",path="other"} 1.0' in service.get("/metrics").text


def test_logs_contain_no_texts(lines: io.StringIO) -> None:
    secret = "Xylophone"
    with running(characters=100) as service:
        service.post({"texts": [secret, f"{secret} Two"]})
        service.post({"text": f"{secret} boom"})
        service.post({"text": secret * 100})
        service.post({"text": secret, "threshold": secret})
        service.post(content=f'{{"text": "{secret}')
        service.get(f"/{secret}")
        service.get("/health/live")
    shown = lines.getvalue()
    assert secret not in shown
    logged = [json.loads(line) for line in shown.splitlines()]
    requests = [line for line in logged if line["message"] == "request"]
    assert [line["code"] for line in requests] == [200, 500, 422, 422, 422, 404]
    first = requests[0]
    assert (first["texts"], first["characters"], first["entities"]) == (2, 22, 3)
    assert first["path"] == "/v1/entities"
    assert first["milliseconds"] > 0
    assert len({line["id"] for line in requests}) == 6
    (failure,) = [line for line in logged if line["message"] == "the model failed on a text"]
    assert failure["error"] == requests[1]["error"] == "RuntimeError"
    assert failure["at"].startswith("services.py:")


def test_request_ids() -> None:
    with running() as service:
        assert service.get("/health/live", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
        for odd in ("a b", "x" * 200, '"', ""):
            assert len(service.get("/health/live", headers={"X-Request-ID": odd}).headers["x-request-id"]) == 16


def test_an_unexpected_error_is_500_and_the_service_keeps_running(
    lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running() as service:
        with monkeypatch.context() as patch:
            patch.setattr(service.served, "info", lambda: {}["Secret"])
            response = service.get("/v1/model")
        assert response.headers["x-request-id"] in problem(response, 500)
        assert service.get("/v1/model").status_code == 200
    (line,) = [json.loads(line) for line in lines.getvalue().splitlines() if '"level":"error"' in line]
    assert line["error"] == "KeyError"
    assert "Secret" not in lines.getvalue()


def test_health_while_loading() -> None:
    service = Running(Fake(), Limits(), None)
    assert service.get("/health/live").status_code == 200
    for path in ("/health/ready", "/v1/model"):
        response = service.get(path)
        assert "loading" in problem(response, 503)
        assert int(response.headers["retry-after"]) >= 1
    problem(service.post({"text": "a"}), 503)
    assert service.get("/openapi.json").status_code == 200
    service.served.start()
    service.served.wait()
    assert service.get("/health/ready").json() == {"status": "ready"}
    service.served.stop()
    problem(service.get("/health/ready"), 503)


def test_a_model_that_cannot_be_loaded() -> None:
    def load() -> Fake:
        raise InputError("is not a model")

    failures: list[bool] = []
    served = ServedModel(load, "x", Limits(), on_failure=lambda: failures.append(True))  # type: ignore[arg-type]
    served.start()
    served.wait()
    served.stop()
    assert failures == [True]
    assert isinstance(served.failure, InputError)


def test_the_model_is_described() -> None:
    with running(texts=7) as service:
        shown = service.get("/v1/model").json()
        assert (shown["name"], shown["labels"]) == ("my-model", ["Chemical", "Disease"])
        assert shown["method"] == "mproto"
        assert shown["limits"]["texts"] == 7
        page = service.get("/docs").text
        assert "POST /v1/entities" in page
        assert "http://" not in page
        assert "https://" not in page
        assert "<script" not in page


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"body": 0}, "--max-body 0 is not a valid limit; give 1 or more"),
        ({"batch": 0}, "--batch-size 0 is not a valid limit"),
        ({"wait": -1}, "--batch-wait -1 is not a valid limit; give 0 or more"),
        ({"wait": float("nan")}, "--batch-wait nan is not a valid limit"),
        ({"texts": 9, "queue": 8}, "never fit into a queue of 8; give --max-queue 9 or more"),
    ],
)
def test_wrong_limits(limits: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Limits(**limits)  # type: ignore[arg-type]
