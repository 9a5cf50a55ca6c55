"""Weights of an exported graph as whole numbers of eight bits, and what they are multiplied with, too.

What comes in is rounded as it comes, with a scale for every row of it: every sub-word its own. Libraries for this take one
scale for all that is read at once, and what a model finds in a text then depends on the texts that are read beside it.
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
"""So many times as high as wide is a matrix that is left as it is, such as a few prototypes: there is little to gain."""
FEW = 256
"""Rows to look up of a matrix that is left as it is."""
HIGHEST = 63
"""Of weights that are multiplied. It needs seven of the eight bits: with more, processors without VNNI would overflow."""
HIGHEST_LOOKED_UP = 127
"""Of embeddings, which are only looked up."""


@script(OWN, default_opset=op)
def rounded(values):  # type: ignore[no-untyped-def]
    """Rows (n, k) of values (…, k) as whole numbers, of which 128 is zero, and the scale (n, 1) of each."""
    rows = op.Flatten(values, axis=-1)
    most = op.ReduceMax(op.Abs(rows), op.Constant(value_ints=[1]), keepdims=0)
    scale = op.Max(most, op.Constant(value_float=1e-12)) / op.Constant(value_float=127.0)
    zero = op.Expand(op.Cast(op.Constant(value_int=128), to=2), op.Shape(scale))
    whole = op.QuantizeLinear(rows, scale, zero, axis=0)
    scales = op.Unsqueeze(scale, op.Constant(value_ints=[1]))
    return whole, scales


@script(OWN, default_opset=op)
def product(whole, scales, weights, weight_scale, values):  # type: ignore[no-untyped-def]
    """What `rounded` gave times weights (k, m) with a scale for each column (m,): (…, m), where values were (…, k)."""
    zero = op.Cast(op.Constant(value_int=128), to=2)
    one = op.Constant(value_float=1.0)
    rows = RUNTIME.MatMulIntegerToFloat(whole, weights, one, weight_scale, zero) * scales
    return op.Reshape(rows, op.Concat(op.Shape(values, start=0, end=-1), op.Shape(weight_scale), axis=0))


@script(OWN, default_opset=op)
def looked_up(weights, scale, places):  # type: ignore[no-untyped-def]
    """Rows (…, k) of weights (n, k) with a scale for each row (n, 1)."""
    return op.Cast(op.Gather(weights, places), to=1) * op.Gather(scale, places)


class _Rounded(NamedTuple):
    """A matrix of weights.

    Attributes:
        whole: the same shape, of whole numbers.
        scale: what to multiply each column or row of them with.
    """

    whole: NDArray[np.int8]
    scale: NDArray[np.float32]


def to_int8(model: ModelProto) -> None:
    """Round a graph's matrices, in place: those that something is multiplied with, and those in which rows are looked up."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    before = {name for node in model.graph.node for name in node.input}
    nodes = list(_changed(model, weights))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    replaced = before - used  # what inner graphs use is in neither
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in replaced]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    names = {node.op_type for node in nodes if node.domain == OWN.domain}
    own = (function.to_function_proto() for function in (rounded, product, looked_up))
    model.functions.extend(function for function in own if function.name in names)
    known = {each.domain for each in model.opset_import}
    model.opset_import.extend(
        helper.make_opsetid(each.domain, each.version) for each in (OWN, RUNTIME) if each.domain not in known
    )


def _changed(model: ModelProto, weights: dict[str, TensorProto]) -> Iterator[NodeProto]:
    """The graph's nodes, some of them replaced. New matrices are added to the graph."""
    ready: set[str] = set()  # what has been rounded already: queries, keys and values are made from the same

    def added(name: str, matrix: _Rounded) -> list[str]:
        whole, scale = f"{name}/whole", f"{name}/scale"
        model.graph.initializer.append(numpy_helper.from_array(matrix.whole, whole))
        model.graph.initializer.append(numpy_helper.from_array(matrix.scale, scale))
        return [whole, scale]

    for node in model.graph.node:
        place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
        name = "" if place is None else node.input[place]
        matrix: NDArray[Any] = numpy_helper.to_array(weights[name]) if name in weights else np.zeros(0)
        across = any(attribute.i for attribute in node.attribute)  # columns are looked up, not rows
        if across or not _worth_it(matrix, looked_up=node.op_type == "Gather"):
            yield node
        elif node.op_type == "Gather":
            by_row = added(node.name, _round(matrix, 1, HIGHEST_LOOKED_UP))
            yield helper.make_node("looked_up", [*by_row, node.input[1]], node.output, node.name, domain=OWN.domain)
        else:
            values = node.input[0]
            rows = [f"{values}/whole", f"{values}/scales"]
            if values not in ready:
                ready.add(values)
                yield helper.make_node("rounded", [values], rows, f"{values}/rounded", domain=OWN.domain)
            by_column = added(node.name, _round(matrix, 0, HIGHEST))
            yield helper.make_node("product", [*rows, *by_column, values], node.output, node.name, domain=OWN.domain)


def _worth_it(matrix: NDArray[Any], *, looked_up: bool) -> bool:
    if matrix.ndim != 2 or matrix.dtype != np.float32:
        return False
    height, width = map(int, matrix.shape)
    return height >= FEW if looked_up else NARROW * width >= height


def _round(matrix: NDArray[np.float32], along: int, highest: int) -> _Rounded:
    """Whole numbers up to the highest, with one scale along an axis: (m,) for columns, (n, 1) for rows."""
    scale = np.maximum(np.abs(matrix).max(along, keepdims=True) / highest, np.finfo(np.float32).tiny)
    whole = np.round(matrix / scale).astype(np.int8)
    return _Rounded(whole, (scale[0] if along == 0 else scale).astype(np.float32))
