"""An exported model: tag words with onnxruntime and numpy, without torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from mproto.encoding.plan import CPU_TOKEN_BUDGET
from mproto.encoding.shapes import Shape
from mproto.inference.tagger import Tagged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mproto.encoding.tokens import Tokens
    from mproto.encoding.windows import Window

INPUTS = ("input_ids", "attention_mask", "shapes", "rows", "columns", "places", "lengths")
"""The possible inputs of a graph, all integers. A graph has only the inputs that it uses."""
OUTPUTS = ("tags", "scores")
"""The outputs that every graph has."""
ERRORS_ONLY = 3
"""The log level of onnxruntime that suppresses warnings."""
SLOWER = ["SkipLayerNormFusion"]
"""Optimisations of onnxruntime that make these graphs slower. With eight-bit weights, a sum and its
normalisation take a fifth of the time as one fused step, and a twentieth as two steps."""


class OnnxTagger:
    """Tag words with a graph in ONNX.

    Args:
        session: the graph.
        tokens: its tokenizer.
        labels: the entity types.
        tags: the names of its tags.
        prototype_names: the names of its prototypes, if it has any.
        encoder_name: the encoder that it was trained from.
        window: the maximum number of sub-words in an input.
        int8: whether its weights have eight bits.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        tokens: Tokens,
        *,
        labels: Sequence[str],
        tags: Sequence[str],
        prototype_names: Sequence[str],
        encoder_name: str,
        window: int,
        int8: bool,
    ) -> None:
        self.tokens, self.encoder_name, self.window, self.int8 = tokens, encoder_name, window, int8
        self.labels, self.tags, self.prototype_names = tuple(labels), tuple(tags), tuple(prototype_names)
        self.tokens_per_batch = CPU_TOKEN_BUDGET
        self._session = session
        self._inputs = {put.name for put in session.get_inputs()}
        self._outputs = [out.name for out in session.get_outputs()]

    def tag(self, windows: Sequence[Window], *, features: bool = False) -> Tagged:
        """Tag the windows' own words in one call."""
        wanted = [name for name in self._outputs if features or name != "features"]
        inputs = {name: value for name, value in _inputs(windows, self.tokens.pad) if name in self._inputs}
        found: dict[str, NDArray[Any]] = dict(zip(wanted, self._session.run(wanted, inputs), strict=True))
        return Tagged(
            found["tags"].tolist(),
            found["scores"].tolist(),
            found["prototypes"].tolist() if "prototypes" in found else None,
            found["margins"].tolist() if "margins" in found else None,
            found.get("features"),
        )


def open_session(path: Path) -> onnxruntime.InferenceSession:
    """Load a graph. Errors have one of several classes of onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = _threads()
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER)


def _threads() -> int:
    """Return the number of threads that other libraries use; 0 stands for the number of cores."""
    value = os.environ.get("OMP_NUM_THREADS", "")
    return int(value) if value.isdecimal() else 0


def _inputs(windows: Sequence[Window], pad: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the inputs of a graph for B windows of T sub-words with W own words, by name.

    The names are those of `models.batch`. `places` is the index of each own word in its window,
    and `lengths` is the number of own words in each window.
    """
    lengths = [len(window.firsts) for window in windows]
    shape = len(windows), max(len(window.input_ids) for window in windows)
    input_ids, shapes = np.full(shape, pad, np.int64), np.full(shape, Shape.NONE, np.int64)
    mask = np.zeros(shape, np.int64)
    for row, window in enumerate(windows):
        size = len(window.input_ids)
        input_ids[row, :size], shapes[row, :size], mask[row, :size] = window.input_ids, window.shapes, 1
    yield "input_ids", input_ids
    yield "attention_mask", mask
    yield "shapes", shapes
    yield "rows", np.repeat(np.arange(len(windows)), lengths)
    yield "columns", np.fromiter((place for window in windows for place in window.firsts), np.int64)
    yield "places", np.concatenate([np.arange(length) for length in lengths])
    yield "lengths", np.array(lengths, np.int64)
