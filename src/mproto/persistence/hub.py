"""Push models to the Hugging Face hub, and fetch them by name.

Only the files of a model are fetched. None of them can run code: they are JSON, safetensors, ONNX
and text.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from mproto.errors import InputError, MissingExtraError
from mproto.io.hub_probe import hub_answers, is_no_connection, status_of
from mproto.persistence.files import CONFIG, recover_model

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = (
    CONFIG,
    "README.md",
    "*.safetensors",
    "*.onnx",
    "*.onnx_data",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "*.model",
)
"""The files of a model folder, as patterns."""
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
LOGIN = "run `hf auth login`"


class Saveable(Protocol):
    """A model that can write itself into a folder."""

    def save_pretrained(self, folder: Path) -> object: ...


def find_model(name_or_path: str | Path, *, revision: str | None = None, token: str | bool | None = None) -> Path:
    """Return the folder of a model, fetched from the hub if it is the name of one there.

    A path that does not exist and cannot be a name on the hub is returned unchanged; reading it
    reports the error. Without a connection, a model that was fetched before is used.

    Args:
        name_or_path: a folder, or a name such as `user/name`; an existing folder takes precedence.
        revision: a branch, a tag or a commit on the hub.
        token: an access token for private models; by default, that of `hf auth login`.

    Raises:
        InputError: it is neither a folder nor on the hub, access is denied, or it is not a model of
            mproto.
    """
    folder = Path(name_or_path).expanduser()
    name = str(name_or_path)
    recover_model(folder)  # an interrupted folder could otherwise be mistaken for a name on the hub
    if folder.exists() or isinstance(name_or_path, Path) or not HUB_NAME.fullmatch(name):
        if revision is not None:
            what = f"the revision {revision!r} is given, but {name!r} is not a name on the Hugging Face hub"
            raise InputError(what, hint="leave the revision out, or give a name such as user/name")
        return folder
    hub = _library(f"{name!r} is not a folder here, and fetching it from the Hugging Face hub")
    options: dict[str, Any] = {"revision": revision, "token": token, "library_name": "mproto"}
    with _explained(f"{name!r} is not a folder here", name, revision):
        if not hub_answers(name, revision, token):
            options["local_files_only"] = True
        _check_config(name, Path(hub.hf_hub_download(name, CONFIG, **options)))  # before gigabytes are fetched
        return Path(hub.snapshot_download(name, allow_patterns=list(FILES), **options))


def push_to_hub(
    recognizer: Saveable,
    name: str,
    *,
    private: bool | None = None,
    token: str | bool | None = None,
    revision: str | None = None,
    commit_message: str = "Upload a model of mproto",
) -> str:
    """Push a model to the Hugging Face hub; return its address there.

    All files of an older model are replaced or deleted, so that files of two models never mix.
    Other files are kept.

    Args:
        recognizer: the model.
        name: `user/name`, or only a name for your own account; the repository is created if it does
            not exist.
        private: whether a new repository is private; by default, as your account is configured.
        token: a token with write access; by default, that of `hf auth login`.
        revision: a branch; created if it does not exist.
        commit_message: the message of the commit on the hub.

    Raises:
        InputError: the name is invalid, you have no write access, or the hub does not answer.
    """
    hub = _library("Pushing a model to the Hugging Face hub")
    with _explained(f"the model cannot be pushed to {name!r}", name, None), tempfile.TemporaryDirectory() as folder:
        api = hub.HfApi(token=token, library_name="mproto")
        repository = api.create_repo(name, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(repository.repo_id, branch=revision, exist_ok=True)
        recognizer.save_pretrained(Path(folder))
        api.upload_folder(
            repo_id=repository.repo_id,
            folder_path=folder,
            revision=revision,
            commit_message=commit_message,
            delete_patterns=list(FILES),
        )
        return str(repository) if revision is None else f"{repository}/tree/{quote(revision, safe='')}"


def _library(what: str) -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtraError(what, "hub") from None
    return huggingface_hub


def _check_config(name: str, path: Path) -> None:
    try:
        config = json.loads(path.read_bytes())
    except ValueError:
        config = None
    if not isinstance(config, dict) or "mproto_version" not in config:
        hint = "name a model that push_to_hub of mproto pushed; pass an encoder for training to --encoder"
        raise InputError(f"{name!r} on the Hugging Face hub is not a model of mproto", hint=hint)


@contextmanager
def _explained(start: str, name: str, revision: str | None) -> Iterator[None]:
    """Turn errors of the hub's library into one sentence that begins with `start`."""
    try:
        yield
    except Exception as error:
        explained = _not_found(error, start, name, revision) or _not_allowed(error, start, name)
        if explained is None:
            raise
        raise explained from error


def _not_found(error: Exception, start: str, name: str, revision: str | None) -> InputError | None:
    from huggingface_hub import errors

    if isinstance(error, errors.HFValidationError):
        return InputError(f"{start}: {str(error).splitlines()[0].rstrip('.')}", hint="give a name such as user/name")
    if isinstance(error, errors.RevisionNotFoundError):
        what = f"{start}, and on the Hugging Face hub it has no revision {revision!r}"
        return InputError(what, hint="name one of its branches, tags or commits")
    if isinstance(error, errors.LocalEntryNotFoundError):
        what = f"{start}, was not fetched before, and the Hugging Face hub does not answer"
        return InputError(what, hint="check the connection and HF_HUB_OFFLINE, or give a folder")
    if isinstance(error, errors.EntryNotFoundError):
        what = f"{start}, and {name!r} on the Hugging Face hub is not a model of mproto: it has no {CONFIG}"
        return InputError(what, hint="name a model that push_to_hub of mproto pushed")
    if is_no_connection(error.__cause__ if isinstance(error, RuntimeError) else error):  # an upload wraps it
        return InputError(f"{start}: the Hugging Face hub does not answer", hint="check the connection, and try again")
    return None


def _not_allowed(error: Exception, start: str, name: str) -> InputError | None:
    from huggingface_hub import constants, errors

    if isinstance(error, errors.GatedRepoError):  # a subclass of the next
        what = f"{start}, and on the Hugging Face hub its owner restricts access to it"
        return InputError(what, hint=f"ask for access at {constants.ENDPOINT}/{name}, and {LOGIN}")
    if isinstance(error, errors.RepositoryNotFoundError):
        what = f"{start}, and the Hugging Face hub has no repository of that name that you may see"
        return InputError(what, hint=f"check the spelling, or {LOGIN} if it is private")
    if isinstance(error, errors.LocalTokenNotFoundError) or status_of(error) in (401, 403):
        what = f"{start}: the Hugging Face hub denies access"
        return InputError(what, hint=f"{LOGIN} with a token that has the permission")
    if status := status_of(error):
        return InputError(f"{start}: the Hugging Face hub answers {status}", hint="try again later")
    return None
