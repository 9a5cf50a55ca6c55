"""Calls of a recogniser: kinds of input, thresholds, styles, provenance, wrong calls."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mproto import Document, Gazetteer, Recognizer, demo
from mproto.errors import InputError
from mproto.inference.texts import MOST_CHARACTERS
from runs import small_model

TEXT = "Aspirin helps against a headache, and so does rest."
ODD = st.text(
    st.sampled_from("aé🙂👩🏽‍⚕️\u0301\u200f\u05d0\u0627\x00\n\t \ud800-.,'ﬁİß漢") | st.characters(), max_size=30
)


@pytest.fixture(autouse=True)
def encoder() -> None:
    small_model()


def plain(entities: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return entities in a form to compare; scores are rounded, since the order of a sum changes its last digits."""
    return [(e["entity_group"], e["word"], e["start"], e["end"], round(e["score"], 3)) for e in entities]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(ODD, st.sampled_from(["", "Aspirin", " headache 👍🏽 "]), ODD).map("".join), max_size=5))
@example(["a\x00Aspirin\u0301 headache", "\ud800 Aspirin", "א aspirin ב"])
def test_offsets_are_offsets_in_the_original_text(texts: list[str]) -> None:
    for text, found in zip(texts, small_model()(texts), strict=True):
        position = 0
        for entity in found:
            assert entity["word"] == text[entity["start"] : entity["end"]] != ""
            assert entity["start"] >= position
            position = entity["end"]


def test_a_single_word_of_100_kilobytes() -> None:
    word = "aspirin" * 14_000
    (first, second) = small_model()([f"Aspirin {word} headache", word])
    assert first[0]["word"].startswith("Aspirin")
    assert all(entity["word"] in f"Aspirin {word} headache" for entity in [*first, *second])


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 7]))
def test_results_do_not_depend_on_order_or_the_other_texts(random: Any, batch_size: int) -> None:
    texts = [document.text for document in demo.documents("test")[:6]] + ["", TEXT]
    expected = {text: plain(small_model()(text)) for text in texts}
    random.shuffle(texts)
    for text, found in zip(texts, small_model()(texts, batch_size=batch_size), strict=True):
        assert plain(found) == expected[text]


def test_a_stream_is_not_read_far_ahead() -> None:
    taken = 0

    def stream() -> Any:
        nonlocal taken
        while True:
            taken += 1
            yield TEXT

    found = list(islice(small_model()(stream()), 3))
    assert [plain(entities) for entities in found] == [plain(small_model()(TEXT))] * 3
    assert taken == 33  # the first block, and one text that shows that the block is full


def test_texts_that_are_split_into_words() -> None:
    words = ["Aspirin", "helps", "against", "a", "severe head", "."]
    (found,) = small_model()([words], is_split_into_words=True)
    assert plain(small_model()(words, is_split_into_words=True)) == plain(found)
    for entity in found:
        assert " ".join(words[entity["word_start"] : entity["word_end"]]) == entity["word"]
        assert " ".join(words)[entity["start"] : entity["end"]] == entity["word"]
    assert found[0]["word"] == "Aspirin"
    assert small_model()([[], words], is_split_into_words=True)[0] == []


def test_thresholds_leave_out_lower_scores() -> None:
    text = " ".join(document.text for document in demo.documents("test")[:8])
    everything = small_model()(text)
    middle = sorted(entity["score"] for entity in everything)[len(everything) // 2]
    assert small_model()(text, threshold=middle) == [e for e in everything if e["score"] >= middle]
    first = small_model().labels[0]
    kept = small_model()(text, threshold={first: middle})
    assert kept == [e for e in everything if e["entity_group"] != first or e["score"] >= middle]
    documents = list(small_model().predict([Document(text)], threshold=middle))
    assert len(documents[0].spans) == len([e for e in everything if e["score"] >= middle])


def test_styles_agree() -> None:
    hf, gliner, spacy = (small_model()(TEXT, style=style) for style in ("hf", "gliner", "spacy"))
    assert [(e["start"], e["end"], e["entity_group"], e["word"], e["score"]) for e in hf] == [
        (e["start"], e["end"], e["label"], e["text"], e["score"]) for e in gliner
    ]
    assert spacy["text"] == TEXT
    assert [(e["start"], e["end"], e["label"]) for e in spacy["ents"]] == [
        (e["start"], e["end"], e["label"]) for e in gliner
    ]
    from spacy import displacy

    assert hf[0]["word"] in displacy.render(spacy, style="ent", manual=True, jupyter=False)


def test_provenance_names_terms_and_training_mentions(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Chemical.txt").write_text("rest\nAspirin\n")
    recognizer = small_model().with_gazetteer(Gazetteer.load(tmp_path), "union")
    found = {entity["word"]: entity["provenance"] for entity in recognizer(TEXT, provenance=True)}
    assert found["Aspirin"]["source"] == "gazetteer"
    assert found["rest"] == {
        "source": "gazetteer",
        "entry": "rest",
        "file": str(tmp_path / "Chemical.txt"),
        "line": 1,
    }
    # After a few steps the bias is large, and the model is not sure of a text of one word.
    monkeypatch.setattr(small_model().model, "entity_bias", 0.0)
    (known,) = [e["provenance"] for e in small_model()("Aspirin", provenance=True)]
    mentions = small_model().mentions
    assert mentions is not None
    assert known["source"] == "model"
    assert len(known["like"]) == 3
    assert set(known["like"]) <= {
        t for t, label in zip(mentions.texts, mentions.labels, strict=True) if label == "Chemical"
    }
    assert "aspirin" in {text.casefold() for text in known["like"]}  # a training mention


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ner: ner(None), "None is not a text"),
        (lambda ner: ner([TEXT, None]), "text 2 is None"),
        (lambda ner: ner([TEXT, 3.5]), "text 2 is of type float"),
        (lambda ner: ner([["a"]]), "is_split_into_words=True"),
        (lambda ner: ner(TEXT, is_split_into_words=True), "is not a text that is split into words"),
        (lambda ner: ner([["a", ""]], is_split_into_words=True), "word 2 of text 1 is empty"),
        (lambda ner: ner([[None]], is_split_into_words=True), "word 1 of text 1 is None"),
        (lambda ner: ner(TEXT, threshold=1.5), "threshold 1.5 is not a score"),
        (lambda ner: ner(TEXT, threshold={"Chemcal": 0.5}), "did you mean Chemical"),
        (lambda ner: ner(TEXT, style="json"), "choose from hf, spacy, gliner"),
        (lambda ner: ner("x" * (MOST_CHARACTERS + 1)), "10,000,001 characters"),
        (lambda ner: ner(3), "3 is not a text; give a string, or a list of strings"),
        (lambda ner: ner({"a": 1}), "{'a': 1} is not a text"),
        (lambda ner: ner(Document(TEXT)), "Document.* is not a text"),
        (
            lambda ner: ner(3, is_split_into_words=True),
            "3 is not a text that is split into words; give a list of words",
        ),
        *[
            (lambda ner, n=n: ner(iter([TEXT]), batch_size=n), f"batch_size is {n!r}; give a whole number")
            for n in (0, 1.5, True, "8")
        ],
        (lambda ner: ner.predict_words([], batch_size=0), "batch_size is 0"),
        (lambda ner: ner.with_gazetteer(Gazetteer(()), "both"), "off, union, prefer-gazetteer, terms"),
        (lambda ner: ner.with_gazetteer(Gazetteer(()), ""), "'' is not a way to combine"),
    ],
)
def test_wrong_calls(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(small_model())
    assert small_model()(TEXT)  # the recogniser still works


@pytest.mark.parametrize("name", ["predict_entities", "predict_words", "predict", "__call__"])
def test_long_texts_are_refused_before_they_are_split_into_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def split(text: str) -> Any:
        raise AssertionError("the words of such a text need gigabytes")

    monkeypatch.setattr("mproto.text.document.split_words", split)
    text = "a " * MOST_CHARACTERS
    with pytest.raises(InputError, match="20,000,000 characters; the limit is 10,000,000"):
        list(getattr(small_model(), name)([text if name == "__call__" else Document(text)]))


def test_numpy_numbers_are_accepted() -> None:
    for number in (0.5, np.float64(0.5), np.float32(0.5), np.float16(0.5)):
        assert small_model()(TEXT, threshold=number) == small_model()(TEXT, threshold=0.5)
        assert small_model()(TEXT, threshold={"Chemical": number}) == small_model()(TEXT, threshold={"Chemical": 0.5})
    assert plain(small_model()(TEXT, batch_size=np.int64(2))) == plain(small_model()(TEXT))
    for wrong in (np.float32(1.5), np.float32("nan"), np.bool_(True)):
        with pytest.raises(InputError, match="is not a score"):
            small_model()(TEXT, threshold=wrong)


def test_empty_texts_have_no_entities() -> None:
    assert small_model()("") == small_model()(" \n\t ") == small_model()([]) == []
    assert isinstance(small_model(), Recognizer)
