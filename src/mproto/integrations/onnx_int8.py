"""8-bit quantization of an exported graph: weights in advance, activations as they are computed.

Activations get one scale per row, which is one per sub-word. Other libraries use one scale for the
whole batch, so that the entities of a text depend on the other texts in the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnx import helper, numpy_helper
from onnxscript import opset20 as op
from onnxscript import script
from onnxscript.values import Opset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto

OWN, RUNTIME = Opset("mproto", 1), Opset("com.microsoft", 1)
NARROW = 8
"""A weight matrix with more than this many rows per column is not quantized, for example that of
the prototypes: the gain would be small."""
FEW = 256
"""An embedding matrix with fewer rows is not quantized."""
LARGEST_WEIGHT = 63
"""The largest quantized weight of a product. It needs only seven bits, because sums of products of
eight bits overflow on processors without VNNI."""
LARGEST_EMBEDDING = 127
"""The largest quantized value of an embedding, which is not multiplied."""


@script(OWN, default_opset=op)
def quantize_rows(values):  # type: ignore[no-untyped-def]
    """Quantize values (…, k) by row: integers (n, k), where 128 stands for 0, and scales (n, 1)."""
    rows = op.Flatten(values, axis=-1)
    most = op.ReduceMax(op.Abs(rows), op.Constant(value_ints=[1]), keepdims=0)
    scale = op.Max(most, op.Constant(value_float=1e-12)) / op.Constant(value_float=127.0)
    zero = op.Expand(op.Cast(op.Constant(value_int=128), to=2), op.Shape(scale))
    integers = op.QuantizeLinear(rows, scale, zero, axis=0)
    scales = op.Unsqueeze(scale, op.Constant(value_ints=[1]))
    return integers, scales


@script(OWN, default_opset=op)
def quantized_matmul(integers, scales, weights, weight_scale, values):  # type: ignore[no-untyped-def]
    """Multiply quantized rows by weights (k, m), which have a scale per column (m,).

    `values` (…, k), which the rows were made from, only give the shape of the result, (…, m).
    """
    zero = op.Cast(op.Constant(value_int=128), to=2)
    one = op.Constant(value_float=1.0)
    rows = RUNTIME.MatMulIntegerToFloat(integers, weights, one, weight_scale, zero) * scales
    return op.Reshape(rows, op.Concat(op.Shape(values, start=0, end=-1), op.Shape(weight_scale), axis=0))


@script(OWN, default_opset=op)
def quantized_gather(weights, scale, places):  # type: ignore[no-untyped-def]
    """Look up rows (…, k) of weights (n, k), which have a scale per row (n, 1)."""
    return op.Cast(op.Gather(weights, places), to=1) * op.Gather(scale, places)


class _Quantized(NamedTuple):
    """A quantized matrix.

    Attributes:
        integers: the quantized values, in the shape of the matrix.
        scale: the factor of each column, (m,), or of each row, (n, 1).
    """

    integers: NDArray[np.int8]
    scale: NDArray[np.float32]


def quantize(model: ModelProto) -> None:
    """Quantize the weights of a graph's `MatMul` and `Gather` nodes, in place."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    before = {name for node in model.graph.node for name in node.input}
    nodes = list(_quantized_nodes(model, weights))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    replaced = before - used  # weights of inner graphs are in neither set, and stay
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in replaced]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    names = {node.op_type for node in nodes if node.domain == OWN.domain}
    own = (function.to_function_proto() for function in (quantize_rows, quantized_matmul, quantized_gather))
    model.functions.extend(function for function in own if function.name in names)
    known = {each.domain for each in model.opset_import}
    model.opset_import.extend(
        helper.make_opsetid(each.domain, each.version) for each in (OWN, RUNTIME) if each.domain not in known
    )


def _quantized_nodes(model: ModelProto, weights: dict[str, TensorProto]) -> Iterator[NodeProto]:
    """Yield the graph's nodes, with quantized ones in place of some.

    Their weights are added to the graph.
    """
    ready: set[str] = set()  # activations that are quantized already: queries, keys and values have the same input

    def add_weights(name: str, matrix: _Quantized) -> list[str]:
        integers, scale = f"{name}/integers", f"{name}/scale"
        model.graph.initializer.append(numpy_helper.from_array(matrix.integers, integers))
        model.graph.initializer.append(numpy_helper.from_array(matrix.scale, scale))
        return [integers, scale]

    for node in model.graph.node:
        place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
        name = "" if place is None else node.input[place]
        matrix: NDArray[Any] = numpy_helper.to_array(weights[name]) if name in weights else np.zeros(0)
        by_column = any(attribute.i for attribute in node.attribute)  # a Gather of columns
        if by_column or not _is_worthwhile(matrix, lookup=node.op_type == "Gather"):
            yield node
        elif node.op_type == "Gather":
            embeddings = add_weights(node.name, _quantize(matrix, 1, LARGEST_EMBEDDING))
            yield helper.make_node(
                "quantized_gather", [*embeddings, node.input[1]], node.output, node.name, domain=OWN.domain
            )
        else:
            values = node.input[0]
            rows = [f"{values}/integers", f"{values}/scales"]
            if values not in ready:
                ready.add(values)
                yield helper.make_node("quantize_rows", [values], rows, f"{values}/quantized", domain=OWN.domain)
            factors = add_weights(node.name, _quantize(matrix, 0, LARGEST_WEIGHT))
            yield helper.make_node(
                "quantized_matmul", [*rows, *factors, values], node.output, node.name, domain=OWN.domain
            )


def _is_worthwhile(matrix: NDArray[Any], *, lookup: bool) -> bool:
    """Return whether to quantize a matrix, of embeddings (`lookup`) or of factors of a product."""
    if matrix.ndim != 2 or matrix.dtype != np.float32:
        return False
    height, width = map(int, matrix.shape)
    return height >= FEW if lookup else NARROW * width >= height


def _quantize(matrix: NDArray[np.float32], axis: int, largest: int) -> _Quantized:
    """Quantize a matrix to integers up to `largest`, with a scale per column (0) or row (1)."""
    scale = np.maximum(np.abs(matrix).max(axis, keepdims=True) / largest, np.finfo(np.float32).tiny)
    integers = np.round(matrix / scale).astype(np.int8)
    return _Quantized(integers, (scale[0] if axis == 0 else scale).astype(np.float32))
