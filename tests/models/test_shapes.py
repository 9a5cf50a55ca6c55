"""Word shapes, for encoders whose tokenizer ignores case."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders import embedded, write_roberta
from mproto import Recognizer
from mproto.encoding.shapes import Shape, keeps_case, shape_of
from mproto.models.batch import collate, make_windows
from mproto.models.encoder import Encoder
from runs import small_model


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("aspirin", Shape.LOWER),
        ("α-synuclein", Shape.LOWER),
        ("Aspirin", Shape.CAPITALISED),
        ("Selegiline-induced", Shape.CAPITALISED),
        ("A", Shape.CAPITAL),
        ("B12", Shape.CAPITAL),
        ("NSAID", Shape.CAPITALS),
        ("U.S.", Shape.CAPITALS),
        ("eGFR", Shape.MIXED),
        ("McDonald", Shape.MIXED),
        ("2.5", Shape.DIGITS),
        ("(", Shape.SIGNS),
        ("", Shape.SIGNS),
        ("名前", Shape.LOWER),
    ],
)
def test_shapes(word: str, shape: Shape) -> None:
    assert shape_of(word) is shape


@given(st.text())
def test_every_text_has_a_shape(word: str) -> None:
    assert shape_of(word) is not Shape.NONE


def test_only_uncased_encoders_have_shape_embeddings(tmp_path: Path) -> None:
    assert not keeps_case(embedded().tokens)
    assert embedded().shapes is not None
    roberta = Encoder.load(str(write_roberta(tmp_path)))
    assert keeps_case(roberta.tokens)
    assert roberta.shapes is None
    assert Encoder.load(shapes=False).shapes is None


def test_shapes_of_sub_words_and_padding() -> None:
    words = [["Selegiline", "helps", "2", "NSAID"], ["("]]
    batch = collate(make_windows(words, embedded().tokens, 64), embedded().pad_id)
    pieces = [len(embedded().tokenizer(word, add_special_tokens=False).input_ids) for word in words[0]]
    shapes = [Shape.CAPITALISED, Shape.LOWER, Shape.DIGITS, Shape.CAPITALS]
    inside = [shape for shape, count in zip(shapes, pieces, strict=True) for _ in range(count)]
    assert batch.shapes.shape == batch.input_ids.shape
    assert batch.shapes[0].tolist() == [0, *inside, 0]
    assert batch.shapes[1].tolist() == [0, Shape.SIGNS, *[0] * sum(pieces)]


def test_a_trained_encoder_distinguishes_case(tmp_path: Path) -> None:
    def feature(encoder: Encoder, word: str) -> torch.Tensor:
        with torch.no_grad():
            return encoder(collate(make_windows([[word]], encoder.tokens, 64), encoder.pad_id))

    fresh, trained = embedded(), small_model()
    assert torch.equal(feature(fresh, "Apple"), feature(fresh, "apple"))
    assert not torch.equal(feature(trained.model.encoder, "Apple"), feature(trained.model.encoder, "apple"))
    trained.save_pretrained(tmp_path)
    again = Recognizer.from_pretrained(tmp_path).model.encoder
    assert torch.equal(feature(again, "Apple"), feature(trained.model.encoder, "Apple"))
