"""Example mentions in a model folder, as safetensors.

The texts and labels are JSON in the file's header.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from mproto.errors import InputError, in_short
from mproto.inference.mentions import Mentions
from mproto.io.atomic import usual_permissions
from mproto.persistence.files import MENTIONS, check_no_pickle

if TYPE_CHECKING:
    from pathlib import Path


def save_mentions(mentions: Mentions, folder: Path) -> None:
    """Write mentions into a model folder.

    Raises:
        OSError: they cannot be written.
    """
    header = {"texts": json.dumps(mentions.texts), "labels": json.dumps(mentions.labels)}
    try:
        save_file({"directions": mentions.directions.astype(np.float16)}, folder / MENTIONS, header)
    except SafetensorError as error:
        raise OSError(str(error)) from None
    usual_permissions(folder / MENTIONS)


def load_mentions(folder: Path) -> Mentions | None:
    """Read the mentions of a model folder, if it has any.

    Raises:
        InputError: they cannot be read.
    """
    path = folder / MENTIONS
    if not path.is_file():
        return None
    check_no_pickle(path)
    try:
        with safe_open(path, "numpy") as file:
            header, directions = file.metadata(), file.get_tensor("directions")
        texts, labels = json.loads(header["texts"]), json.loads(header["labels"])
        if not len(texts) == len(labels) == len(directions):
            raise ValueError("its texts, labels and directions differ in number")
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        hint = "copy the model again, or delete the file: the model works without it"
        raise InputError(f"cannot be read: {in_short(error)}", path=path, hint=hint) from None
    return Mentions(texts, labels, directions)
