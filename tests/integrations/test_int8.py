"""8-bit quantization: its arithmetic against numpy, and results that do not depend on the other texts in a batch."""

from __future__ import annotations

import random

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from encoders import embedded
from mproto import Recognizer, demo
from mproto.integrations.onnx import export_onnx
from mproto.integrations.onnx_decoding import OPSET
from mproto.integrations.onnx_int8 import quantize
from runs import small_model

TEXTS = [document.text for document in demo.documents("test")[:12]]


def graph(nodes: list[tuple[str, str, str]], inputs: dict[str, int], **matrices: NDArray[np.float32]) -> ModelProto:
    """Build a graph of nodes (operator, first input, second input). The output of a node with the matrix `w` is `w_`."""
    names = [f"{next(name for name in node[1:] if name in matrices)}_" for node in nodes]
    made = [
        helper.make_node(kind, list(put), [out], name=f"make_{out}")
        for (kind, *put), out in zip(nodes, names, strict=True)
    ]
    given_ = [helper.make_tensor_value_info(name, kind, None) for name, kind in inputs.items()]
    found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
    weights = [numpy_helper.from_array(matrix, name) for name, matrix in matrices.items()]
    model = helper.make_model(helper.make_graph(made, "test", given_, found, weights))
    model.opset_import[0].version = OPSET
    model.ir_version = 10
    return model


def run(model: ModelProto, **inputs: NDArray[np.generic]) -> list[NDArray[np.float32]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    found: list[NDArray[np.float32]] = onnxruntime.InferenceSession(model.SerializeToString(), options).run(
        None, inputs
    )
    return found


SIZES = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 40), st.integers(5, 40))


@settings(max_examples=30, deadline=None)
@given(SIZES, st.integers(0, 2**31 - 1))
def test_products_are_within_the_rounding_error(sizes: tuple[int, int, int, int], seed: int) -> None:
    batch, length, height, width = sizes
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(batch, length, height)).astype(np.float32)
    values[0, 0] = 0  # a row of zeros
    first, second = (generator.normal(size=(height, width)).astype(np.float32) for _ in range(2))
    model = graph([("MatMul", "x", "v"), ("MatMul", "x", "w")], {"x": TensorProto.FLOAT}, v=first, w=second)
    quantize(model)
    assert [node.op_type for node in model.graph.node] == ["quantize_rows", "quantized_matmul", "quantized_matmul"]
    assert not {"v", "w"} & {tensor.name for tensor in model.graph.initializer}
    for weights, found in zip((first, second), run(model, x=values), strict=True):
        row = np.abs(values).max(-1, keepdims=True) / 127 + 1e-30
        column = np.abs(weights).max(0) / 63
        steps = np.abs(values) @ np.abs(column / 2 * np.ones_like(weights)) + row / 2 * np.abs(weights).sum(0)
        limit = steps + row / 2 * column / 2 * height  # half a step of one factor, of the other, and of both
        assert found.shape == (batch, length, width)
        assert (np.abs(found - values @ weights) <= 1.001 * limit + 1e-6).all()


@settings(max_examples=30, deadline=None)
@given(SIZES, st.integers(0, 2**31 - 1))
def test_a_row_does_not_depend_on_the_other_rows(sizes: tuple[int, int, int, int], seed: int) -> None:
    batch, length, height, width = sizes
    generator = np.random.default_rng(seed)
    values = (generator.normal(size=(batch, length, height)) * 10.0 ** generator.integers(-3, 3, (batch, 1, 1))).astype(
        "f"
    )
    model = graph(
        [("MatMul", "x", "w")], {"x": TensorProto.FLOAT}, w=generator.normal(size=(height, width)).astype("f")
    )
    quantize(model)
    (together,) = run(model, x=values)
    for number, own in enumerate(values):
        np.testing.assert_array_equal(run(model, x=own[None])[0][0], together[number])


def test_embeddings() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32) * np.arange(300)[:, None].astype("f")
    model = graph([("Gather", "w", "x")], {"x": TensorProto.INT64}, w=rows)
    quantize(model)
    (found,) = run(model, x=np.array([[0, 7], [299, 7]]))
    expected = rows[[[0, 7], [299, 7]]]
    assert (np.abs(found - expected) <= np.abs(expected).max(-1, keepdims=True) / 254 * 1.001).all()


def test_small_matrices_are_not_quantized() -> None:
    few, narrow = np.ones((8, 4), np.float32), np.ones((80, 4), np.float32)
    model = graph(
        [("Gather", "v", "n"), ("MatMul", "x", "w")], {"n": TensorProto.INT64, "x": TensorProto.FLOAT}, v=few, w=narrow
    )
    before = model.graph.SerializeToString()
    quantize(model)
    assert model.graph.SerializeToString() == before


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Recognizer:
    """A quantized model with the bundled encoder, whose activations differ enough that a shared scale would matter."""
    embedded()
    folder = tmp_path_factory.mktemp("int8")
    export_onnx(small_model(), folder, int8=True)
    return Recognizer.from_pretrained(folder)


def test_results_do_not_depend_on_order_or_the_other_texts(exported: Recognizer) -> None:
    alone = {text: exported(text) for text in TEXTS}
    assert any(alone.values())
    for seed, batch_size in ((0, 2), (1, 64)):
        texts = random.Random(seed).sample(TEXTS, len(TEXTS))
        for text, found in zip(texts, exported(texts, batch_size=batch_size), strict=True):
            assert [{**entity, "score": 0} for entity in found] == [{**entity, "score": 0} for entity in alone[text]]
            assert [entity["score"] for entity in found] == pytest.approx([e["score"] for e in alone[text]], abs=0.01)
