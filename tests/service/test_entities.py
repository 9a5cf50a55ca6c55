"""Responses with entities: they do not depend on other requests at the same time. Wrong requests are explained."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mproto import demo
from runs import small_model
from services import Fake, problem, running

SENTENCES = [document.text for document in demo.documents("test")[:12]]
TEXTS = st.sampled_from([*SENTENCES, "", " ", "\x00", "Aspirin", "a" * 100]) | st.text(max_size=20)
REQUESTS = st.lists(st.lists(TEXTS, max_size=4) | TEXTS, min_size=1, max_size=6)


def without_scores(entities: list[dict[str, Any]]) -> list[Any]:
    return [[e["entity_group"], e["word"], e["start"], e["end"]] for e in entities]


def test_any_mix_of_requests_gets_the_entities_of_the_model() -> None:
    model = small_model()
    alone: dict[str, Any] = {}

    with running(model, batch=4, batch_characters=400) as service:

        @settings(max_examples=8)
        @given(requests=REQUESTS)
        @example(requests=SENTENCES[:8])
        def check(requests: list[list[str] | str]) -> None:
            async def talk(client: httpx.AsyncClient) -> list[httpx.Response]:
                bodies = [{"text" if isinstance(r, str) else "texts": r} for r in requests]
                return await asyncio.gather(*(client.post("/v1/entities", json=body) for body in bodies))

            for request, response in zip(requests, service.call(talk), strict=True):
                assert response.status_code == 200, response.text
                found = response.json()["entities"]
                texts, found = ([request], [found]) if isinstance(request, str) else (request, found)
                assert len(found) == len(texts)
                for text, entities in zip(texts, found, strict=True):
                    if text not in alone:
                        (alone[text],) = model([text])
                    assert without_scores(entities) == without_scores(alone[text])
                    scores = [e["score"] for e in alone[text]]
                    assert [e["score"] for e in entities] == pytest.approx(scores, abs=1e-3)
                    assert all(text[e["start"] : e["end"]] == e["word"] for e in entities)

        check()


def test_one_text_several_and_none() -> None:
    with running() as service:
        one = service.post({"text": "Aspirin helps"}).json()
        assert one == {"model": "my-model", "entities": Fake().entities("Aspirin helps")}
        several = service.post({"texts": ["Aspirin", "no", "Ibuprofen"]}).json()["entities"]
        assert [[e["word"] for e in of] for of in several] == [["Aspirin"], [], ["Ibuprofen"]]
        assert service.post({"texts": []}).json()["entities"] == []


def test_threshold_and_types() -> None:
    with running() as service:

        def words(**more: Any) -> list[str]:
            found = service.post({"text": "Aspirin Fever Iron Gout", **more}).json()["entities"]
            return [e["word"] for e in found]

        assert words() == words(threshold=0) == ["Aspirin", "Fever", "Iron", "Gout"]
        assert words(threshold=0.5) == ["Aspirin", "Fever"]
        assert words(types=["Disease"]) == ["Fever", "Gout"]
        assert words(types=["Disease"], threshold=1) == []
        assert words(threshold={}) == words()
        assert words(threshold={"Chemical": 0.5}) == ["Aspirin", "Fever", "Gout"]
        assert words(threshold={"Chemical": 0.5, "Disease": 1}) == ["Aspirin"]
        assert words(threshold={"Chemical": 0.5}, types=["Chemical"]) == ["Aspirin"]


def test_thresholds_are_those_of_the_model() -> None:
    model = small_model()
    threshold = {model.labels[0]: 0.9, model.labels[1]: 0.5}
    with running(model) as service:
        found = service.post({"texts": SENTENCES, "threshold": threshold}).json()["entities"]
    wanted = model(SENTENCES, threshold=threshold)
    assert [without_scores(of) for of in found] == [without_scores(of) for of in wanted]
    assert 0 < sum(map(len, wanted)) < sum(map(len, model(SENTENCES)))


@pytest.mark.parametrize("text", ["\x00", "😀 Aspirin", "\u202e", "é" * 50, "\ufeff", "\U0010ffff"])
def test_odd_characters_keep_their_place(text: str) -> None:
    with running() as service:
        found = service.post({"text": text}).json()["entities"]
        assert found == Fake().entities(text)


WRONG = {
    b"": "The body is not JSON",
    b"{": "The body is not JSON",
    b"\xff\xfe": "The body is not JSON",
    b'{"text": "\\ud800"}': "The body is not JSON",
    b'{"text": "\xed\xa0\x80"}': "The body is not JSON",
    b"[" * 100_000: "The body is not JSON",
    b"[]": "The body: input should be an object",
    b"null": "The body: input should be an object",
    b"{}": 'Neither "text" nor "texts" is given',
    b'{"text": "a", "texts": ["b"]}': 'Both "text" and "texts" are given',
    b'{"text": null}': "text: input should be a valid string",
    b'{"text": 1}': "text: input should be a valid string",
    b'{"texts": "a"}': "texts: input should be a valid array",
    b'{"texts": ["a", 1]}': "texts[1]: input should be a valid string",
    b'{"text": "a", "threshold": 1.5}': "threshold: input should be less than or equal to 1",
    b'{"text": "a", "threshold": "0.5"}': "threshold: input should be a valid number",
    b'{"text": "a", "threshold": NaN}': "threshold: input should be a finite number",
    b'{"text": "a", "threshold": null}': "threshold: input should be a valid number",
    b'{"text": "a", "threshold": {"Chemical": 2}}': "threshold.Chemical: input should be less than or equal to 1",
    b'{"text": "a", "threshold": {"Chemical": null}}': "threshold.Chemical: input should be a valid number",
    b'{"text": "a", "threshold": {"Drug": 0}}': "threshold: the model has no type 'Drug'; its types are Chemical, Disease.",
    b'{"text": "a", "types": []}': "types: list should have at least 1 item",
    b'{"text": "a", "types": ["Drug"]}': "types: the model has no type 'Drug'; its types are Chemical, Disease.",
    b'{"text": "a", "treshold": 0.5}': "treshold is not a field of a request; its fields are text, texts, threshold, types.",
    b'{"text": "aaaaa"}': "text has 5 characters, and the limit is 4",
    b'{"texts": ["a", "aaaaa"]}': "texts[1] has 5 characters, and the limit is 4",
    b'{"texts": ["a", "b", "c", "d"]}': "The request has 4 texts, and the limit is 3",
}


def test_wrong_requests_are_explained() -> None:
    with running(texts=3, characters=4) as service:

        async def talk(client: httpx.AsyncClient) -> list[httpx.Response]:
            return [await client.post("/v1/entities", content=body) for body in WRONG]

        for response, message in zip(service.call(talk), WRONG.values(), strict=True):
            assert message in problem(response, 422)
        assert service.model.calls[1:] == []  # the first call was the warm-up
