"""The last part of an exported graph: from what is likely for each word to one tag, score and prototype each.

Written as a graph by hand, since the loop over a sentence's words (`method.sequence.most_likely`) cannot be traced. The
library reads the source of these functions, so that they can be nothing but operators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import numpy_helper
from onnxscript import FLOAT, INT64, graph, script
from onnxscript import opset20 as op

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import Tensor

OPSET = 20


@script()
def _most_likely(likely, rows, places, lengths, change):  # type: ignore[no-untyped-def]
    """Tags (W,) of words that are the `places`-th of window `rows`; `likely` (W, K), `lengths` (B,), `change` (K, K)."""
    last_axis = op.Constant(value_ints=[-1])
    zero = op.Constant(value_float=0.0)
    begin, step = op.Constant(value_int=0), op.Constant(value_int=1)
    words, windows = op.ReduceMax(lengths, keepdims=1), op.Shape(lengths)
    classes = op.Shape(likely, start=1, end=2)
    where = op.Concat(op.Unsqueeze(places, last_axis), op.Unsqueeze(rows, last_axis), axis=1)  # (W, 2)
    filled = op.ScatterND(op.Expand(zero, op.Concat(words, windows, classes, axis=0)), where, likely)  # (N, B, K)
    numbers = op.Range(begin, op.Squeeze(words), step)
    same = op.Range(begin, op.Squeeze(classes), step)
    nothing = op.Expand(zero, op.Concat(windows, classes, axis=0))

    @graph()
    def forward(best, own, number):  # type: ignore[no-untyped-def]
        ways = op.Unsqueeze(best, op.Constant(value_ints=[-1])) + change  # (B, K before, K)
        stepped = op.ReduceMax(ways, op.Constant(value_ints=[1]), keepdims=0) + own
        new = op.Where(op.Equal(number, op.Constant(value_int=0)), own, stepped)
        inside = op.Unsqueeze(op.Less(number, lengths), op.Constant(value_ints=[-1]))
        kept = op.Where(inside, new, best)  # behind a sentence's end, all stays as it is
        came_from = op.Where(inside, op.ArgMax(ways, axis=1, keepdims=0), same)
        return kept, came_from

    best, came_from = op.Scan(nothing, filled, numbers, body=forward, num_scan_inputs=2)
    last = op.ArgMax(best, axis=1, keepdims=0)

    @graph()
    def backward(current, pointers):  # type: ignore[no-untyped-def]
        tag = op.Identity(current)
        at = op.Unsqueeze(current, op.Constant(value_ints=[-1]))
        previous = op.Squeeze(op.GatherElements(pointers, at, axis=1), op.Constant(value_ints=[-1]))
        return previous, tag

    first, path = op.Scan(
        last, came_from, body=backward, num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1]
    )
    tags = op.GatherND(path, where)
    return tags


@script()
def _choose(tags, values):  # type: ignore[no-untyped-def]
    """Of values (W, K), those (W,) of the words' tags."""
    axis = op.Constant(value_ints=[-1])
    chosen = op.Squeeze(op.GatherElements(values, op.Unsqueeze(tags, axis), axis=1), axis)
    return chosen


def decision(change: Tensor) -> ModelProto:
    """From `likely`, `rows`, `places` and `lengths` to `tags`.

    Args:
        change: (K, K) of `method.sequence.transitions`; zeros where each word is decided for itself.
    """
    words, pairs = ["W"], ["W", "K"]
    types: list[Any] = [FLOAT[*pairs], INT64[*words], INT64[*words], INT64["B"], FLOAT["K", "K"]]
    model: ModelProto = _most_likely.to_model_proto(input_types=types, output_types=[INT64[*words]])
    model.graph.initializer.append(numpy_helper.from_array(change.float().cpu().numpy(), "change"))
    del model.graph.input[-1]
    return model


def choice(values: str, chosen: str, *, whole: bool = False) -> ModelProto:
    """From `tags` and some values of each class to those of the tags.

    Args:
        values: the name of what it takes.
        chosen: the name of what it gives.
        whole: whether these are whole numbers.
    """
    kind = INT64 if whole else FLOAT
    model: ModelProto = _choose.to_model_proto(input_types=[INT64["W"], kind["W", "K"]], output_types=[kind["W"]])
    for node in model.graph.node:
        node.input[:] = [values if name == "values" else name for name in node.input]
        node.output[:] = [chosen if name == "chosen" else name for name in node.output]
    model.graph.input[1].name, model.graph.output[0].name = values, chosen
    return model
