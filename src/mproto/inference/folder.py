"""The folder of a model on disk: what it says it is, and whether it is whole."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

BEST = "best"
"""The folder of the chosen model inside that of a training run."""
CONFIG, WEIGHTS = "config.json", "model.safetensors"
AGAIN = "train or copy the model again"


def model_folder(path: Path) -> Path:
    """The folder of a model; of that of a training run, its best one's."""
    return path / BEST if (path / BEST / CONFIG).is_file() else path


def read_description(folder: Path) -> dict[str, Any]:
    """The `config.json` of a model.

    Raises:
        InputError: there is none, or it is another program's.
    """
    path = folder / CONFIG
    try:
        description = json.loads(path.read_bytes())
    except OSError as error:
        what = f"holds no model: {CONFIG} cannot be read ({error.strerror})"
        raise InputError(what, path=folder, hint="check the path") from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", path=path, hint=AGAIN) from None
    if not isinstance(description, dict) or "mproto_version" not in description:
        raise InputError("is not a model of mproto", path=folder, hint="name a folder that mproto wrote")
    return description


def write_description(folder: Path, description: dict[str, Any], checked: tuple[str, ...]) -> None:
    """Write `config.json`, with the fingerprints of these files."""
    whole = {**description, "files": {name: fingerprint(folder / name) for name in checked}}
    (folder / CONFIG).write_bytes(as_json(whole))


def as_json(description: dict[str, Any]) -> bytes:
    """A description as `config.json` holds it."""
    return (json.dumps(description, ensure_ascii=False, indent=2) + "\n").encode()


def check_files(folder: Path, description: dict[str, Any]) -> None:
    """See to it that the files are those that were written with the description; older ones did not say.

    Raises:
        InputError: one is missing, or another.
    """
    for name, expected in dict(description.get("files", {})).items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"holds no {name}, which belongs to the model", path=folder, hint=AGAIN)
        check_no_pickle(path)
        if fingerprint(path) != expected:
            raise InputError("is not the file that was saved with this model", path=path, hint=AGAIN)


def check_no_pickle(path: Path) -> None:
    """See to it that a file of weights is none of those that run code when they are read.

    Raises:
        InputError: it is.
    """
    with path.open("rb") as file:
        start = file.read(9)
    is_safetensors = start[8:] == b"{"  # behind a length that may be any number
    if not is_safetensors and start.startswith((b"\x80", b"PK\x03\x04")):
        raise InputError("is a pickle, which could run any code, and is never read", path=path, hint=AGAIN)


def fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
