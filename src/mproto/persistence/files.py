"""The folder of a model on disk: what it says it is, and whether it is whole."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.persistence.manifest import AGAIN, check_description

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["AGAIN", "BEST", "CONFIG", "GRAPH_FILE", "MENTIONS", "TOKENIZER", "WEIGHTS"]

BEST = "best"
"""The folder of the chosen model inside that of a training run."""
CONFIG, WEIGHTS, GRAPH_FILE, MENTIONS = "config.json", "model.safetensors", "model.onnx", "mentions.safetensors"
TOKENIZER = "tokenizer.json"
CHECKED = (WEIGHTS, GRAPH_FILE, TOKENIZER, "tokenizer_config.json", MENTIONS)
"""What `config.json` has the fingerprints of, as far as it is there."""


def model_folder(path: Path) -> Path:
    """The folder of a model; of that of a training run, its best one's."""
    return path / BEST if (path / BEST / CONFIG).is_file() else path


def read_description(folder: Path) -> dict[str, Any]:
    """The `config.json` of a model.

    Raises:
        InputError: there is none, it is another program's, or something in it cannot be.
    """
    path = folder / CONFIG
    try:
        description = json.loads(path.read_bytes().decode())  # a decoded text: bytes may begin with a byte order mark
    except OSError as error:
        what = f"holds no model: {CONFIG} cannot be read ({error.strerror})"
        raise InputError(what, path=folder, hint="check the path") from None
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte {error.start + 1} is {error.object[error.start]:#04x}"
        raise InputError(what, path=path, hint=AGAIN) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", path=path, hint=AGAIN) from None
    if not isinstance(description, dict) or "mproto_version" not in description:
        raise InputError("is not a model of mproto", path=folder, hint="name a folder that mproto wrote")
    check_description(description, path)
    return description


def write_description(folder: Path, description: dict[str, Any]) -> None:
    """Write `config.json`, with the fingerprints of the model's other files, which are all there."""
    files = {name: fingerprint(folder / name) for name in CHECKED if (folder / name).is_file()}
    (folder / CONFIG).write_bytes(as_json({**description, "files": files}))


def as_json(description: dict[str, Any]) -> bytes:
    """A description as `config.json` holds it."""
    return (json.dumps(description, ensure_ascii=False, indent=2) + "\n").encode()


def check_files(folder: Path, description: dict[str, Any]) -> None:
    """See to it that the files are those that were written with the description; older ones do not say of all of them.

    Mentions may be missing: who wants to keep them from others deletes the file.

    Raises:
        InputError: one is missing, cannot be read, or is another.
    """
    for name, expected in {TOKENIZER: None, **description.get("files", {})}.items():
        path = folder / name
        if not os.path.isfile(path):  # noqa: PTH113 (a name that no file can have is that of none)
            if name == MENTIONS:
                continue
            raise InputError(f"holds no {name}, which belongs to the model", path=folder, hint=AGAIN)
        check_no_pickle(path)
        if expected is not None and fingerprint(path) != expected:
            raise InputError("is not the file that was saved with this model", path=path, hint=AGAIN)


def check_no_pickle(path: Path) -> None:
    """See to it that a file of weights can be read, and is none of those that run code when they are.

    Raises:
        InputError: it is, or cannot be.
    """
    with _readable(path), path.open("rb") as file:
        start = file.read(9)
    is_safetensors = start[8:] == b"{"  # behind a length that may be any number
    if not is_safetensors and start.startswith((b"\x80", b"PK\x03\x04")):
        raise InputError("is a pickle, which could run any code, and is never read", path=path, hint=AGAIN)


def fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Libraries say of a file that they may not read that there is none."""
    try:
        yield
    except OSError as error:
        hint = "check the path and its permissions"
        raise InputError(f"cannot be read ({error.strerror})", path=path, hint=hint) from None
