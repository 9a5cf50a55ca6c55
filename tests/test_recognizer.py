"""A recogniser: offsets, saving, and all kinds of texts."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders import embedded
from mproto import Document, Recognizer, demo, train
from mproto.errors import InputError
from mproto.extensions.viterbi import most_likely, transitions
from mproto.models.batch import collate, make_windows
from runs import labelled, small_config, small_model


@pytest.fixture(autouse=True)
def encoder() -> None:
    embedded()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(max_size=40) | st.sampled_from(["Aspirin cures headache 👍🏽", "naïve café"]), max_size=4))
def test_words_lie_where_the_offsets_say(texts: list[str]) -> None:
    for text, found in zip(texts, small_model()(texts), strict=True):
        for entity in found:
            assert list(entity) == ["entity_group", "score", "word", "start", "end"]
            assert text[entity["start"] : entity["end"]] == entity["word"]
            assert 0 <= entity["score"] <= 1
            assert entity["entity_group"] in small_model().labels


def test_one_text_and_several() -> None:
    text = "Aspirin helps against a headache."
    assert small_model()([text, text]) == [small_model()(text)] * 2
    assert small_model()("") == small_model()([]) == []


def test_explanations_name_the_nearest_prototype() -> None:
    recognizer = small_model()
    names = recognizer.model.prototype_names
    assert names[:4] == ("O-1", "O-2", "O-3", f"{recognizer.labels[0]}-1")
    assert len(names) == len(recognizer.model.bank.class_of)  # type: ignore[arg-type, union-attr]
    text = " ".join(document.text for document in demo.documents("test")[:5])
    found = recognizer(text, provenance=True)
    assert found
    for entity in found:
        known = entity["provenance"]
        assert known["source"] == "model"
        assert known["prototype"].rpartition("-")[0] == entity["entity_group"]
        assert -2 <= known["margin"] <= 2
    assert small_model("tagger").model.prototype_names == ()
    tagged = small_model("tagger")(text, provenance=True)
    assert all("prototype" not in entity["provenance"] for entity in tagged)


def test_predictions_are_those_of_the_model_word_by_word() -> None:
    """The oracle: one sentence at a time, the class of the nearest prototype, runs of one class."""
    model = deepcopy(small_model().model)
    model.transitions.zero_()  # type: ignore[operator, union-attr]
    model.entity_bias = 0.0
    recognizer, encoder = Recognizer(model, small_model().config), model.encoder
    documents = demo.documents("test")[:12]
    for document, found in zip(documents, recognizer.predict(documents), strict=True):
        (window,) = make_windows([document.word_texts], encoder.tokens, encoder.window)
        with torch.no_grad():
            similarity = model.bank.similarity(encoder(collate([window], encoder.pad_id)))  # type: ignore[operator, union-attr]
        classes = model.bank.class_of[similarity.argmax(-1)].tolist()  # type: ignore[index, union-attr]
        expected, previous = [], 0
        for (start, end), number in zip(document.words, classes, strict=True):
            if number and number == previous:
                expected[-1] = (expected[-1][0], end, expected[-1][2])
            elif number:
                expected.append((start, end, recognizer.labels[number - 1]))
            previous = number
        assert [tuple(span) for span in found.spans] == expected
        assert len(found.meta["scores"]) == len(found.spans)


def test_documents_keep_what_they_have() -> None:
    document = Document.from_words(["Aspirin", "helps"], id="7", meta={"a": 1})
    (found,) = small_model().predict([document])
    assert (found.id, found.meta["a"], found.word_texts, found.gold) == ("7", 1, ("Aspirin", "helps"), None)


def test_long_texts_lose_nothing() -> None:
    documents = demo.documents("train")[:90]
    text = " ".join(document.text for document in documents)
    assert len(Document(text).words) > 2000
    found = small_model()(text)
    assert found[-1]["end"] > 0.9 * len(text)
    alone = small_model()([document.text for document in documents])
    words = {entity["word"] for entity in found}
    assert len(words & {e["word"] for entities in alone for e in entities}) > 0.7 * len(words)


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_a_saved_model_is_the_same(method: str, tmp_path: Path) -> None:
    recognizer = small_model(method)
    recognizer.save_pretrained(tmp_path / "model")
    again = Recognizer.from_pretrained(tmp_path / "model")
    texts = [document.text for document in demo.documents("test")[:10]]
    assert again(texts) == recognizer(texts)
    assert (again.labels, again.config, again.card) == (recognizer.labels, recognizer.config, recognizer.card)
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= names
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in names)
    assert "Chemical" in (tmp_path / "model" / "README.md").read_text()


class TestDamage:
    @pytest.fixture
    def saved(self, tmp_path: Path) -> Path:
        small_model().save_pretrained(tmp_path)
        return tmp_path

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="nowhere: no such folder; name the folder of a model"):
            Recognizer.from_pretrained(tmp_path / "nowhere")

    def test_not_ours(self, saved: Path) -> None:
        (saved / "config.json").write_text('{"model_type": "bert"}')
        with pytest.raises(InputError, match="not a model of mproto"):
            Recognizer.from_pretrained(saved)

    def test_a_device_that_is_not_there(self, saved: Path) -> None:
        assert Recognizer.from_pretrained(saved, device="cpu").model.device == torch.device("cpu")
        with pytest.raises(InputError, match="no device 'gpu'"):
            Recognizer.from_pretrained(saved, device="gpu")
        with pytest.raises(InputError, match="cuda:77' is not available"):
            Recognizer.from_pretrained(saved, device="cuda:77")

    def test_not_json(self, saved: Path) -> None:
        (saved / "config.json").write_text("{")
        with pytest.raises(InputError, match="is not JSON"):
            Recognizer.from_pretrained(saved)

    @pytest.mark.parametrize("key", ["labels", "encoder", "settings"])
    def test_a_part_is_missing(self, saved: Path, key: str) -> None:
        description = json.loads((saved / "config.json").read_text())
        del description[key]
        (saved / "config.json").write_text(json.dumps(description))
        with pytest.raises(InputError, match="not a complete model"):
            Recognizer.from_pretrained(saved)

    @pytest.mark.parametrize(("key", "value"), [("betta", 1), ("price", "auto")])
    def test_a_setting_of_another_version(self, saved: Path, key: str, value: object) -> None:
        description = json.loads((saved / "config.json").read_text())
        description["settings"]["mproto"][key] = value
        (saved / "config.json").write_text(json.dumps(description))
        with pytest.raises(InputError, match=f"this version cannot use its settings: .*mproto.{key}.*train or copy"):
            Recognizer.from_pretrained(saved)

    def test_weights_are_cut(self, saved: Path) -> None:
        data = (saved / "model.safetensors").read_bytes()
        (saved / "model.safetensors").write_bytes(data[: len(data) // 2])
        with pytest.raises(InputError, match=r"model.safetensors: is not the file that was saved"):
            Recognizer.from_pretrained(saved)

    def test_weights_are_of_another_model(self, saved: Path) -> None:
        description = json.loads((saved / "config.json").read_text())
        description["labels"].append("Gene")
        (saved / "config.json").write_text(json.dumps(description))
        with pytest.raises(InputError, match="not a complete model"):
            Recognizer.from_pretrained(saved)


def test_words_of_a_sentence_are_chosen_together() -> None:
    """The oracle: Viterbi over `decide` and the bias, with the transitions counted in the training labels."""
    config = small_config("training.min_steps=1", "training.cross_fitting=0")  # trained on the labels as they are
    model = train(labelled(), config=config).recognizer.model
    model.entity_bias = 0.7
    expected = transitions([model.tag_numbers(document) for document in labelled()], len(model.tags))
    torch.testing.assert_close(model.transitions, expected)
    documents = demo.documents("test")[:12]
    windows = make_windows([d.word_texts for d in documents], model.encoder.tokens, model.encoder.window)
    batch = collate(windows, model.encoder.pad_id)
    with torch.no_grad():
        answers, found = model.decide(batch).answers[0], model.predict(batch)
    answers[:, 1:] += 0.7
    assert found.tags.tolist() == most_likely(answers, [d.word_count for d in documents], expected).tolist()
    scores = (answers / model.calibration).softmax(-1).gather(1, found.tags.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(found.scores, scores)
    assert found.prototype is not None
    assert torch.equal(model.bank.class_of[found.prototype], found.tags)  # type: ignore[index, union-attr]
