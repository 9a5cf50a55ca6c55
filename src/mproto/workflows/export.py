"""Export a model: the work of `mproto export`.

The export is compared with the original before its folder appears.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mproto import demo
from mproto.errors import InputError
from mproto.integrations.comparison import Comparison, compare
from mproto.io.outputs import Outputs
from mproto.persistence.files import model_folder
from mproto.recognizer import Recognizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.text.document import Document

Format = Literal["onnx", "transformers"]
FORMATS: tuple[Format, ...] = ("onnx", "transformers")
WRITTEN = (".json", ".md", ".onnx", ".safetensors", ".txt")
MOST_DOCUMENTS = 300
"""Maximum number of documents to compare the two models on."""


def export_model(
    model: Path | str,
    output: Path,
    *,
    format: Format = "onnx",
    int8: bool = False,
    documents: Sequence[Document] = (),
    force: bool = False,
) -> Comparison:
    """Export a model.

    The output is written as a whole or not at all, and only if it agrees with the original.

    Args:
        model: the model's folder, or its name on the Hugging Face hub.
        output: the folder to write.
        format: `onnx`, which `Recognizer.from_pretrained` loads without torch, or `transformers`,
            which `AutoModelForTokenClassification` loads without mproto.
        int8: ONNX only: store weights as 8-bit integers, for a quarter of the size and more speed
            at a small cost in accuracy.
        documents: documents to compare the two models on; by default the bundled ones. Their
            labels, if any, count as human labels.
        force: replace an older export.

    Raises:
        InputError: the model cannot be exported in this format, or the call is wrong.
        MprotoError: the export's predictions differ from those of the original.
    """
    if int8 and format != "onnx":
        raise InputError("only ONNX exports can have 8-bit weights", hint="leave --int8 out")
    original = model_folder(Path(model)).resolve()
    if output.resolve() in (original, original.parent) and original.exists():
        what = "is the folder of the model itself, which the export would replace"
        raise InputError(what, path=output, hint="name another output")
    with Outputs(force=force) as outputs:
        folder = outputs.folder(output, WRITTEN).path
        recognizer = Recognizer.from_pretrained(model, device="cpu")
        if format == "onnx":
            from mproto.integrations.onnx import export_onnx

            export_onnx(recognizer, folder, int8=int8)
            exported = Recognizer.from_pretrained(folder)
        else:
            from mproto.integrations.transformers import TransformersTagger, export_transformers

            export_transformers(recognizer, folder)
            exported = Recognizer(TransformersTagger(folder, recognizer), recognizer.config)
        chosen = [document for document in documents or demo.documents("test") if document.word_count][:MOST_DOCUMENTS]
        gold = bool(documents) and any(document.with_gold().spans for document in chosen)
        comparison = compare(recognizer, exported, chosen, gold=gold)
        comparison.check(exact=not int8)
    return comparison
