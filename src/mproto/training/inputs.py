"""The inputs of a training run: its settings and fingerprints of its data.

A run can be resumed only with the same settings and the same data.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.config import Config
    from mproto.text.document import Document

MAY_CHANGE = ("training.checkpoint_minutes", "training.device")
"""Settings that may differ when a run is resumed, for example on another machine."""


def run_inputs(
    config: Config,
    processes: int,
    documents: Sequence[Document],
    labelled: Sequence[Document],
    dev: Sequence[Document] | None,
) -> dict[str, Any]:
    """Return the settings and the fingerprints of the data, by name.

    Args:
        config: all settings.
        processes: the number of processes that train together.
        documents: the documents with distant labels.
        labelled: the human-labelled documents.
        dev: the development documents, if any.
    """
    settings: dict[str, Any] = {}
    for name, value in config.as_dict().items():
        settings |= {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    for name in MAY_CHANGE:
        del settings[name]
    if config.autoner.phrases:
        settings["autoner.phrases"] = _content(Path(config.autoner.phrases))
    return {
        **settings,
        "processes": processes,
        "training documents": _fingerprint(documents),
        "labelled documents": _fingerprint(labelled),
        "development documents": None if dev is None else _fingerprint(dev),
    }


def _content(path: Path) -> str:
    """Return a fingerprint of a file or of the files in a folder.

    A missing file is reported where it is read.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def _fingerprint(documents: Sequence[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        words = tuple(map(tuple, document.edges))
        digest.update(repr((document.text, words, document.spans)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
