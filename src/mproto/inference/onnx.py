"""An exported model: onnxruntime and numpy tag words, and nothing else is needed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from mproto.encoding.plan import CACHED
from mproto.encoding.shapes import Shape
from mproto.encoding.tokens import Tokens
from mproto.errors import InputError
from mproto.inference.tagger import Tagged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mproto.encoding.windows import Window

GRAPH = 1
"""The version of what a graph takes and gives; it goes up whenever an older mproto could not use a newer graph."""
FILE = "model.onnx"
TOKENIZER = "tokenizer.json"
AGAIN = "export the model again"
QUIET = 3
"""Of onnxruntime's log: errors, not warnings."""
SLOWER = ["SkipLayerNormFusion"]
"""What onnxruntime does to graphs that makes them slower: a sum and its normalisation in one step take a fifth of the time in
eight bits, and apart a twentieth."""


class OnnxTagger:
    """Tags words with a graph that `mproto export` wrote.

    Args:
        folder: where it is.
        description: its `config.json`.

    Raises:
        InputError: it is of another version, or not whole.
    """

    def __init__(self, folder: Path, description: dict[str, Any]) -> None:
        version = description["onnx"].get("graph")
        if version != GRAPH:
            what = f"was exported by mproto {description['mproto_version']}, as version {version} of its graphs"
            raise InputError(f"{what}; this mproto reads version {GRAPH}", path=folder, hint=AGAIN)
        self.folder = folder
        self.at_once = CACHED
        self.labels: tuple[str, ...] = tuple(description["labels"])
        self.tags: tuple[str, ...] = tuple(description["tags"])
        self.prototype_names: tuple[str, ...] = tuple(description["prototype_names"])
        self.encoder_name: str = description["encoder"]["name"]
        self.window: int = description["tokens"]["window"]
        self.tokens = _load_tokens(folder, description)
        self._session = _load_session(folder / FILE)
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._outputs = [out.name for out in self._session.get_outputs()]

    def tag(self, windows: Sequence[Window], *, features: bool = False) -> Tagged:
        """Tag the windows' own words, all at once."""
        wanted = [name for name in self._outputs if features or name != "features"]
        filled = {name: value for name, value in _columns(windows, self.tokens.pad) if name in self._inputs}
        found: dict[str, NDArray[Any]] = dict(zip(wanted, self._session.run(wanted, filled), strict=True))
        return Tagged(
            found["tags"].tolist(),
            found["scores"].tolist(),
            found["prototypes"].tolist() if "prototypes" in found else None,
            found["margins"].tolist() if "margins" in found else None,
            found.get("features"),
        )


def _columns(windows: Sequence[Window], pad: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """What a graph takes: B windows of T sub-words with W own words; names as in `models.batch`.

    `places` is the number of each own word in its window, and `lengths` how many of them each window has.
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


def _load_tokens(folder: Path, description: dict[str, Any]) -> Tokens:
    path = folder / TOKENIZER
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library knows no better name
        raise InputError(f"cannot be read: {error}", path=path, hint=AGAIN) from None
    about = description["tokens"]
    return Tokens(tokenizer, unknown=about["unknown"], pad=about["pad"])


def _threads() -> int:
    """As many as other libraries are told to use, or 0, for as many as there are cores."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdecimal() else 0


def _load_session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = QUIET
    options.intra_op_num_threads = _threads()
    try:
        return onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
    except Exception as error:  # of several kinds, all of them its own
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"cannot be read by onnxruntime: {reason}", path=path, hint=AGAIN) from None
