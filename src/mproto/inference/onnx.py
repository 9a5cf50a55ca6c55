"""An exported model: onnxruntime and numpy tag words, and nothing else is needed."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from mproto.encoding.plan import CPU_TOKEN_BUDGET
from mproto.encoding.shapes import Shape
from mproto.encoding.tokens import Tokens
from mproto.errors import InputError, in_short
from mproto.inference.tagger import Tagged
from mproto.persistence.files import CONFIG, TOKENIZER, check_files
from mproto.persistence.files import GRAPH_FILE as FILE
from mproto.persistence.manifest import EXPORT_AGAIN as AGAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mproto.encoding.windows import Window

INPUTS = ("input_ids", "attention_mask", "shapes", "rows", "columns", "places", "lengths")
"""What a graph may take, all of them whole numbers; it need not take what makes no difference to it."""
OUTPUTS = ("tags", "scores")
"""What it gives at least."""
TAGS, PROTOTYPES = "mproto_tags", "mproto_prototypes"
"""How many it has, in its own words; older graphs do not say."""
QUIET = 3
"""Of onnxruntime's log: errors, not warnings."""
SLOWER = ["SkipLayerNormFusion"]
"""What onnxruntime does to graphs that makes them slower: a sum and its normalisation in one step take a fifth of the time in
eight bits, and apart a twentieth."""


class OnnxTagger:
    """Tags words with a graph that `mproto export` wrote.

    Args:
        folder: where it is.
        description: its `config.json`, as `read_description` gives it.

    Attributes:
        folder: the same.
        int8: whether its weights have eight bits.

    Raises:
        InputError: it is not whole, or its parts do not belong together.
    """

    def __init__(self, folder: Path, description: dict[str, Any]) -> None:
        self.folder, self._description = folder, description
        self.int8: bool = description["onnx"]["int8"]
        self.tokens_per_batch = CPU_TOKEN_BUDGET
        self.labels: tuple[str, ...] = tuple(description["labels"])
        self.tags: tuple[str, ...] = tuple(description["tags"])
        self.prototype_names: tuple[str, ...] = tuple(description["prototype_names"])
        self.encoder_name: str = description["encoder"]["name"]
        self.window: int = description["tokens"]["window"]
        self.tokens = _load_tokens(folder, description)
        self._session = _load_session(folder / FILE)
        _check_graph(self._session, len(self.tags), len(self.prototype_names), folder / FILE)
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._outputs = [out.name for out in self._session.get_outputs()]

    def save(self, folder: Path) -> dict[str, Any]:
        """Copy its files; what must be known to use them, for JSON.

        Raises:
            InputError: they are other ones than it was read from.
            OSError: they cannot be copied.
        """
        for name in (FILE, TOKENIZER):
            shutil.copyfile(self.folder / name, folder / name)
        try:
            check_files(folder, self._description)
        except InputError:
            hint = "load the model again, and save that"
            raise InputError("holds another model than when this one was loaded", path=self.folder, hint=hint) from None
        return {key: value for key, value in self._description.items() if key not in ("files", "settings", "card")}

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
        raise InputError(f"cannot be read: {in_short(error)}", path=path, hint=AGAIN) from None
    about = description["tokens"]
    for key in ("unknown", "pad"):
        if tokenizer.id_to_token(about[key]) is None:
            what = f"'tokens.{key}' is {about[key]}, which is none of the tokenizer's sub-words"
            raise InputError(what, path=folder / CONFIG, hint=AGAIN)
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
        raise InputError(f"cannot be read by onnxruntime: {in_short(error)}", path=path, hint=AGAIN) from None


def _check_graph(session: onnxruntime.InferenceSession, tags: int, prototypes: int, path: Path) -> None:
    """See to it that a graph takes and gives what it should, and has as many tags and prototypes as there are names."""
    for put in session.get_inputs():
        if put.name not in INPUTS or put.type != "tensor(int64)":
            what = f"takes {put.name!r} as {put.type}, which no graph of mproto does"
            raise InputError(what, path=path, hint=AGAIN)
    given = {out.name for out in session.get_outputs()}
    for name in (*OUTPUTS, *(["prototypes"] if prototypes else [])):
        if name not in given:
            raise InputError(f"does not give {name!r}, which a graph of mproto does", path=path, hint=AGAIN)
    own = session.get_modelmeta().custom_metadata_map
    for key, count in ((TAGS, tags), (PROTOTYPES, prototypes)):
        if own.get(key, str(count)) != str(count):
            what = f"has {own[key]} {key.partition('_')[2]}, and {CONFIG} names {count}"
            raise InputError(what, path=path, hint=AGAIN)
