"""Export a model to one ONNX graph, which onnxruntime runs without PyTorch."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING

from mproto.errors import MissingExtraError
from mproto.persistence.card import SCORES
from mproto.persistence.files import GRAPH_FILE as FILE
from mproto.persistence.files import TOKENIZER, write_description
from mproto.persistence.manifest import GRAPH
from mproto.persistence.mentions import save_mentions
from mproto.version import __version__

try:
    import onnx
    from onnx import compose
except ImportError as missing:
    raise MissingExtraError("Exporting a model", "export") from missing

import torch

from mproto.integrations.onnx_decoding import OPSET, decoding_graph, select_graph
from mproto.integrations.onnx_int8 import quantize
from mproto.integrations.onnx_network import INPUTS, Network, network_of
from mproto.persistence.onnx_model import PROTOTYPES, TAGS, OnnxModel
from mproto.recognizer import Recognizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from onnx import ModelProto


def export_onnx(recognizer: Recognizer, folder: Path, *, int8: bool = False) -> None:
    """Write a model as a folder that `Recognizer.from_pretrained` opens with onnxruntime.

    Args:
        recognizer: a PyTorch model of a method that tags words and does not classify spans.
        folder: an empty folder.
        int8: whether to quantize weights and activations to 8-bit integers (`onnx_int8.py`).

    Raises:
        InputError: models of this method cannot be exported.
        OSError: the folder cannot be written.
    """
    model = recognizer.model
    if int8:  # the recorded scores are not those of the quantized model
        recognizer = copy(recognizer)
        recognizer.card = {key: value for key, value in recognizer.card.items() if key != SCORES}
    network = network_of(model)
    graph = _graph(network)
    onnx.helper.set_model_props(graph, {TAGS: str(len(model.tags)), PROTOTYPES: str(len(model.prototype_names))})
    if int8:
        quantize(graph)
    onnx.save(graph, folder / FILE)
    (folder / TOKENIZER).write_text(model.tokens.to_json(), "utf-8")
    if recognizer.mentions is not None:
        save_mentions(recognizer.mentions, folder)
    about = {
        "mproto_version": __version__,
        "onnx": {"graph": GRAPH, "int8": int8},
        "labels": list(model.labels),
        "tags": list(model.tags),
        "prototype_names": list(model.prototype_names),
        "tokens": {"unknown": model.tokens.unknown, "pad": model.tokens.pad, "window": model.window},
        "encoder": {"name": model.encoder.name},
        "settings": recognizer.config.as_dict(),
        **({} if recognizer.name_types is None else {"name_types": sorted(recognizer.name_types)}),
        "card": recognizer.card,
    }
    write_description(folder, about)
    # The model card is written by a recogniser of the exported model, because it describes the export.
    exported = Recognizer(
        OnnxModel(folder, about), recognizer.config, recognizer.card, name_types=recognizer.name_types
    )
    (folder / "README.md").write_text(exported.model_card(), "utf-8")


def _graph(network: Network) -> ModelProto:
    """Return the whole graph: the traced network, decoding, and the values of each word's tag."""
    whole = _trace(network)
    for part in [
        decoding_graph(network.transitions),
        select_graph("probs", "scores"),
        *(
            [select_graph("nearest", "prototypes", integers=True), select_graph("margin", "margins")]
            if "nearest" in network.outputs
            else []
        ),
    ]:
        part.ir_version = whole.ir_version
        prefix = f"{part.graph.output[0].name}/"
        whole = _append(
            whole,
            compose.add_prefix(part, prefix, rename_inputs=False, rename_outputs=False, rename_initializers=False),
        )
    wanted = ("tags", "scores", "prototypes", "margins", "features")
    kept = [output for name in wanted for output in whole.graph.output if output.name == name]
    del whole.graph.output[:]
    whole.graph.output.extend(kept)
    onnx.checker.check_model(whole)
    return whole


def _append(whole: ModelProto, part: ModelProto) -> ModelProto:
    """Append a graph to another. Values with the same name are connected."""
    given = {value.name for value in (*whole.graph.output, *whole.graph.input)}
    whole.graph.node.extend(part.graph.node)
    whole.graph.initializer.extend(part.graph.initializer)
    whole.graph.input.extend(value for value in part.graph.input if value.name not in given)
    whole.graph.output.extend(part.graph.output)
    return whole


def _trace(network: Network) -> ModelProto:
    """Trace the network with an example batch of two windows and five words.

    All sizes are dynamic.
    """
    shape, words = {0: "windows", 1: "sub_words"}, {0: "words"}
    example = (
        torch.full((2, 7), 5),
        torch.ones(2, 7, dtype=torch.long),
        torch.ones(2, 7, dtype=torch.long),
        torch.tensor([0, 0, 1, 1, 1]),
        torch.tensor([1, 2, 1, 3, 4]),
    )
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            network,
            example,
            input_names=INPUTS,
            output_names=network.outputs,
            dynamic_shapes=(shape, shape, shape, words, words),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the export's warnings and logs, which do not concern users."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
