"""An exported model on disk: a graph in ONNX and a tokenizer; read, checked and copied."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from mproto.encoding.tokens import Tokens
from mproto.errors import InputError, in_short
from mproto.inference.onnx import INPUTS, OUTPUTS, OnnxTagger, open_session
from mproto.persistence.files import CONFIG, GRAPH_FILE, TOKENIZER, check_files
from mproto.persistence.manifest import EXPORT_AGAIN

if TYPE_CHECKING:
    from pathlib import Path

    import onnxruntime

TAGS, PROTOTYPES = "mproto_tags", "mproto_prototypes"
"""The keys of the graph's metadata for the numbers of its tags and prototypes; older graphs lack
them."""


class OnnxModel(OnnxTagger):
    """A tagger that was read from an exported model.

    Args:
        folder: the folder of the model.
        description: its `config.json`, as `read_description` returns it.

    Attributes:
        folder: the folder of the model; saving copies the files from there.

    Raises:
        InputError: a file is missing or damaged, or the files do not belong together.
    """

    def __init__(self, folder: Path, description: dict[str, Any]) -> None:
        self.folder, self._description = folder, description
        tokens, session = _load_tokens(folder, description), _load_session(folder / GRAPH_FILE)
        super().__init__(
            session,
            tokens,
            labels=description["labels"],
            tags=description["tags"],
            prototype_names=description["prototype_names"],
            encoder_name=description["encoder"]["name"],
            window=description["tokens"]["window"],
            int8=description["onnx"]["int8"],
        )
        _check_graph(session, len(self.tags), len(self.prototype_names), folder / GRAPH_FILE)

    def save(self, folder: Path) -> dict[str, Any]:
        """Copy the files; return the values that loading needs, for `config.json`.

        Raises:
            InputError: the files have changed since they were read.
            OSError: they cannot be copied.
        """
        for name in (GRAPH_FILE, TOKENIZER):
            shutil.copyfile(self.folder / name, folder / name)
        try:
            check_files(folder, self._description)
        except InputError:
            what, hint = "contains another model than when this one was loaded", "load the model again, and save that"
            raise InputError(what, path=self.folder, hint=hint) from None
        return {key: value for key, value in self._description.items() if key not in ("files", "settings", "card")}


def _load_tokens(folder: Path, description: dict[str, Any]) -> Tokens:
    path = folder / TOKENIZER
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library has no class for it
        raise InputError(f"cannot be read: {in_short(error)}", path=path, hint=EXPORT_AGAIN) from None
    special = description["tokens"]
    for key in ("unknown", "pad"):
        if tokenizer.id_to_token(special[key]) is None:
            what = f"'tokens.{key}' is {special[key]}, but the tokenizer has no such sub-word"
            raise InputError(what, path=folder / CONFIG, hint=EXPORT_AGAIN)
    return Tokens(tokenizer, unknown=special["unknown"], pad=special["pad"])


def _load_session(path: Path) -> onnxruntime.InferenceSession:
    try:
        return open_session(path)
    except Exception as error:
        raise InputError(f"cannot be read by onnxruntime: {in_short(error)}", path=path, hint=EXPORT_AGAIN) from None


def _check_graph(session: onnxruntime.InferenceSession, tags: int, prototypes: int, path: Path) -> None:
    """Check the inputs and outputs of a graph, and the numbers of its tags and prototypes."""
    for given in session.get_inputs():
        if given.name not in INPUTS or given.type != "tensor(int64)":
            what = f"has the input {given.name!r} of type {given.type}, which graphs of mproto do not have"
            raise InputError(what, path=path, hint=EXPORT_AGAIN)
    outputs = {out.name for out in session.get_outputs()}
    for name in (*OUTPUTS, *(["prototypes"] if prototypes else [])):
        if name not in outputs:
            raise InputError(f"lacks the output {name!r}, which graphs of mproto have", path=path, hint=EXPORT_AGAIN)
    metadata = session.get_modelmeta().custom_metadata_map
    for key, count in ((TAGS, tags), (PROTOTYPES, prototypes)):
        if metadata.get(key, str(count)) != str(count):
            what = f"has {metadata[key]} {key.partition('_')[2]}, but {CONFIG} names {count}"
            raise InputError(what, path=path, hint=EXPORT_AGAIN)
