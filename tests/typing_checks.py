"""The types of calls of the public interface. `mypy` checks this file; `test_typing.py` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, assert_type

from mproto import Document, Entity, Progress, Recognizer, TrainingResult, annotate, demo, train

Entities = list[dict[str, Any]]


def calls_with_texts(ner: Recognizer) -> Iterator[object]:
    text, document = "Aspirin helps", Document("Aspirin helps")
    mixed: list[str | Document] = [text, document]
    yield assert_type(ner(text), Entities)
    yield assert_type(ner(text, threshold=0.5, provenance=True, batch_size=2), Entities)
    yield assert_type(ner(text, style="gliner", threshold={"Chemical": 0.5}), Entities)
    yield assert_type(ner(text, style="spacy"), dict[str, Any])
    yield assert_type(ner([text]), list[Entities])
    yield assert_type(ner(mixed), list[Entities])
    yield assert_type(ner((text,)), list[Entities])
    yield assert_type(ner([document], style="hf", is_split_into_words=False), list[Entities])
    yield assert_type(ner([text], style="spacy"), list[dict[str, Any]])
    yield assert_type(ner(iter([text])), Iterator[Entities])
    yield assert_type(ner(text for _ in range(2)), Iterator[Entities])
    yield assert_type(ner(iter([document]), style="spacy"), Iterator[dict[str, Any]])


def calls_with_words(ner: Recognizer) -> Iterator[object]:
    words = ["Aspirin", "helps"]
    yield assert_type(ner(words, is_split_into_words=True), Entities)
    yield assert_type(ner(("Aspirin", "helps"), is_split_into_words=True, threshold=0.5), Entities)
    yield assert_type(ner(words, is_split_into_words=True, style="spacy"), dict[str, Any])
    yield assert_type(ner([words], is_split_into_words=True), list[Entities])
    yield assert_type(ner([("Aspirin", "helps")], is_split_into_words=True), list[Entities])
    yield assert_type(ner([words], is_split_into_words=True, style="spacy"), list[dict[str, Any]])
    yield assert_type(ner(iter([words]), is_split_into_words=True), Iterator[Entities])
    yield assert_type(ner(iter([words]), is_split_into_words=True, style="spacy"), Iterator[dict[str, Any]])


def wrong_calls(ner: Recognizer) -> None:
    """Each of these is an error for the type checker, or its `ignore` would be one. They are never run."""
    ner(1)  # type: ignore[call-overload]
    ner("Aspirin", style="bio")  # type: ignore[call-overload]
    ner("Aspirin", is_split_into_words=True)  # type: ignore[call-overload]
    ner([["Aspirin"]])  # type: ignore[type-var]
    train([], progres=False)  # type: ignore[call-arg]


def predictions(ner: Recognizer) -> None:
    documents = [Document("Aspirin helps")]
    assert_type(ner.predict(documents), Iterator[Document])
    assert_type(ner.predict_entities(documents), list[list[Entity]])
    assert_type(ner.with_gazetteer(demo.gazetteer()), Recognizer)
    assert_type(ner.with_gazetteer(demo.gazetteer(), "terms"), Recognizer)


def training(documents: list[Document]) -> TrainingResult:
    result = train(
        annotate(documents, demo.gazetteer()),
        encoder="all-MiniLM-L6-v2",
        epochs=2,
        seed=0,
        device="auto",
        progress=True,
    )
    assert_type(result.recognizer, Recognizer)
    assert_type(result.history, tuple[Progress, ...])
    assert_type(result.dev_f1, float | None)
    assert_type(result.recommended, Literal["both", "model", "terms"] | None)
    return assert_type(result, TrainingResult)
