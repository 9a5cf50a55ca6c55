"""The OpenAPI document is true: valid and invalid requests generated from it get the documented responses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from mproto.service.limits import Limits
from runs import small_model
from services import Running, running

QUICK = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running(small_model(), texts=5, characters=200) as service:
        yield service


def test_requests_generated_from_the_document(service: Running) -> None:
    async def only_requests(scope, receive, send):  # the fixture starts and stops the service
        if scope["type"] == "http":
            await service.app(scope, receive, send)

    schema = schemathesis.openapi.from_asgi("/openapi.json", only_requests, config=SchemathesisConfig())
    codes: dict[str, set[int]] = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in GenerationMode if operation.body else [GenerationMode.POSITIVE]:

            @settings(QUICK, max_examples=12 if operation.body else 2)
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                response = case.call_and_validate()
                codes.setdefault(case.path, set()).add(response.status_code)

            check()
    assert codes.pop("/v1/entities") == {200, 422}
    assert len(codes) == 5  # schemathesis does not request the document itself again
    assert all(200 in found for found in codes.values())


def test_limits_are_part_of_the_document(service: Running) -> None:
    shown = service.get("/openapi.json").json()
    one, several = shown["paths"]["/v1/entities"]["post"]["requestBody"]["content"]["application/json"]["schema"][
        "anyOf"
    ]
    assert one["properties"]["text"]["maxLength"] == 200
    assert several["properties"]["texts"]["maxItems"] == 5
    assert several["properties"]["types"]["items"]["enum"] == list(small_model().labels)
    assert list(several["properties"]["threshold"]["anyOf"][1]["properties"]) == list(small_model().labels)
    assert Limits().texts != 5
