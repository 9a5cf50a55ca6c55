"""The last part of an exported graph: decoding, and the selection of the values of each tag.

Viterbi decoding (`extensions.viterbi.most_likely`) loops over the words of a window, which cannot
be traced. So this part is written with onnxscript, which compiles the source of decorated
functions. They may contain ONNX operators only.
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
def _decode(log_probs, rows, places, lengths, transitions):  # type: ignore[no-untyped-def]
    """Return the most likely tags (W,) by the Viterbi algorithm.

    For each word, `log_probs` (W, K) are the log-probabilities of its tags, `rows` (W,) is its
    window, and `places` (W,) its index in the window. `lengths` (B,) are the numbers of words in
    the windows, and `transitions` (K, K) is added to the log-probabilities of each pair of
    successive tags.
    """
    last_axis = op.Constant(value_ints=[-1])
    zero = op.Constant(value_float=0.0)
    begin, step = op.Constant(value_int=0), op.Constant(value_int=1)
    words, windows = op.ReduceMax(lengths, keepdims=1), op.Shape(lengths)
    classes = op.Shape(log_probs, start=1, end=2)
    where = op.Concat(op.Unsqueeze(places, last_axis), op.Unsqueeze(rows, last_axis), axis=1)  # (W, 2)
    padded = op.ScatterND(op.Expand(zero, op.Concat(words, windows, classes, axis=0)), where, log_probs)  # (N, B, K)
    numbers = op.Range(begin, op.Squeeze(words), step)
    identity = op.Range(begin, op.Squeeze(classes), step)
    initial = op.Expand(zero, op.Concat(windows, classes, axis=0))

    @graph()
    def forward(best, own, number):  # type: ignore[no-untyped-def]
        paths = op.Unsqueeze(best, op.Constant(value_ints=[-1])) + transitions  # (B, K before, K)
        stepped = op.ReduceMax(paths, op.Constant(value_ints=[1]), keepdims=0) + own
        new = op.Where(op.Equal(number, op.Constant(value_int=0)), own, stepped)
        inside = op.Unsqueeze(op.Less(number, lengths), op.Constant(value_ints=[-1]))
        kept = op.Where(inside, new, best)  # padding changes nothing
        came_from = op.Where(inside, op.ArgMax(paths, axis=1, keepdims=0), identity)
        return kept, came_from

    best, came_from = op.Scan(initial, padded, numbers, body=forward, num_scan_inputs=2)
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
def _select(tags, values):  # type: ignore[no-untyped-def]
    """Return the value (W,) of each word's tag, from values (W, K) of all tags."""
    axis = op.Constant(value_ints=[-1])
    selected = op.Squeeze(op.GatherElements(values, op.Unsqueeze(tags, axis), axis=1), axis)
    return selected


def decoding_graph(transitions: Tensor) -> ModelProto:
    """Return a graph from `log_probs`, `rows`, `places` and `lengths` to `tags`.

    Args:
        transitions: (K, K) as in `extensions.viterbi.transitions`; zeros to tag each word
            independently.
    """
    words, pairs = ["W"], ["W", "K"]
    types: list[Any] = [FLOAT[*pairs], INT64[*words], INT64[*words], INT64["B"], FLOAT["K", "K"]]
    model: ModelProto = _decode.to_model_proto(input_types=types, output_types=[INT64[*words]])
    model.graph.initializer.append(numpy_helper.from_array(transitions.float().cpu().numpy(), "transitions"))
    del model.graph.input[-1]
    return model


def select_graph(values: str, selected: str, *, integers: bool = False) -> ModelProto:
    """Return a graph that selects the value of each word's tag.

    Args:
        values: the name of the input (W, K); the other input is `tags`.
        selected: the name of the output (W,).
        integers: whether the values are integers.
    """
    kind = INT64 if integers else FLOAT
    model: ModelProto = _select.to_model_proto(input_types=[INT64["W"], kind["W", "K"]], output_types=[kind["W"]])
    for node in model.graph.node:
        node.input[:] = [values if name == "values" else name for name in node.input]
        node.output[:] = [selected if name == "selected" else name for name in node.output]
    model.graph.input[1].name, model.graph.output[0].name = values, selected
    return model
