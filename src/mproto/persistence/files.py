"""The files of a model folder, its `config.json`, and checks that the files belong together."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.io.replacement import recover
from mproto.persistence.manifest import TRAIN_AGAIN, check_description

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEST = "best"
"""The folder of the chosen model inside the folder of a training run."""
CONFIG, WEIGHTS, GRAPH_FILE, MENTIONS = "config.json", "model.safetensors", "model.onnx", "mentions.safetensors"
TOKENIZER = "tokenizer.json"
CHECKED = (WEIGHTS, GRAPH_FILE, TOKENIZER, "tokenizer_config.json", MENTIONS)
"""The files whose fingerprints are in `config.json`, if the model has them."""
NAME_MODEL = "name the folder of a model or of a training run"


def model_folder(path: Path) -> Path:
    """Return the model folder at a path; for a training run, the folder of its best model."""
    recover_model(path)
    return path / BEST if (path / BEST / CONFIG).is_file() else path


def recover_model(path: Path) -> None:
    """Put the old or the new model in place if the process that replaced it was killed."""
    for folder in (path / BEST, path):
        with suppress(OSError):  # it may be read-only; reading the model reports the error
            recover(folder)


def read_description(folder: Path) -> dict[str, Any]:
    """Read the `config.json` of a model.

    Raises:
        InputError: there is none, it belongs to another program, or a value in it is invalid.
    """
    path = folder / CONFIG
    try:
        description = json.loads(path.read_bytes().decode())  # decoded first, since `json` accepts a byte order mark
    except OSError as error:
        raise _no_model(folder, error) from None
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte {error.start + 1} is {error.object[error.start]:#04x}"
        raise InputError(what, path=path, hint=TRAIN_AGAIN) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", path=path, hint=TRAIN_AGAIN) from None
    if not isinstance(description, dict) or "mproto_version" not in description:
        raise InputError("is not a model of mproto", path=folder, hint="name a folder that mproto wrote")
    check_description(description, path)
    return description


def _no_model(folder: Path, error: OSError) -> InputError:
    if not folder.is_dir():
        return InputError(
            "is a file, not a folder" if folder.exists() else "no such folder", path=folder, hint=NAME_MODEL
        )
    if isinstance(error, FileNotFoundError):
        return InputError(f"is not a model: it has no {CONFIG}", path=folder, hint=NAME_MODEL)
    what = f"is not a model: {CONFIG} cannot be read ({error.strerror})"
    return InputError(what, path=folder, hint="check its permissions")


def write_description(folder: Path, description: dict[str, Any]) -> None:
    """Write `config.json`, with fingerprints of the other files, which must be there already."""
    files = {name: fingerprint(folder / name) for name in CHECKED if (folder / name).is_file()}
    (folder / CONFIG).write_bytes(as_json({**description, "files": files}))


def as_json(description: dict[str, Any]) -> bytes:
    """Return the content of `config.json`."""
    return (json.dumps(description, ensure_ascii=False, indent=2) + "\n").encode()


def check_files(folder: Path, description: dict[str, Any]) -> None:
    """Check that the files are those that were saved with the description.

    Older models lack some fingerprints.

    The example mentions may be missing: users who do not want to share them delete the file.

    Raises:
        InputError: a file is missing, cannot be read, or has changed.
    """
    for name, expected in {TOKENIZER: None, **description.get("files", {})}.items():
        path = folder / name
        if not os.path.isfile(path):  # noqa: PTH113 (`Path.is_file` raises an error for impossible names)
            if name == MENTIONS:
                continue
            raise InputError(f"does not contain {name}, which is part of the model", path=folder, hint=TRAIN_AGAIN)
        check_no_pickle(path)
        if expected is not None and fingerprint(path) != expected:
            raise InputError("is not the file that was saved with this model", path=path, hint=TRAIN_AGAIN)


def check_no_pickle(path: Path) -> None:
    """Check that a file can be read and is not a pickle, which would run code on loading.

    Raises:
        InputError: it is a pickle, or cannot be read.
    """
    with _readable(path), path.open("rb") as file:
        start = file.read(9)
    is_safetensors = start[8:] == b"{"  # after eight bytes of length, which may have any value
    if not is_safetensors and start.startswith((b"\x80", b"PK\x03\x04")):
        raise InputError("is a pickle, which could run any code, and is never read", path=path, hint=TRAIN_AGAIN)


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Report a file without read permission as unreadable; the libraries report it as missing."""
    try:
        yield
    except OSError as error:
        hint = "check the path and its permissions"
        raise InputError(f"cannot be read ({error.strerror})", path=path, hint=hint) from None
