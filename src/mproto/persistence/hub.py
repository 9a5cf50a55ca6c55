"""Models on the Hugging Face hub: send one there, and find one by its name.

Only files that a model consists of are fetched, none of which can run anything: JSON, safetensors, ONNX, text.
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

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = "config.json"
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
"""What a model's folder consists of, as patterns."""
TIMEOUT = 3.0  # seconds for the first question; without it, the library would try for half a minute
TRANSPORTS = {"httpcore", "httpx", "httpx2", "requests", "urllib3"}
BROKEN = 500  # from this status on, the hub itself is ill
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
LOGIN = "run `hf auth login`"


class Saved(Protocol):
    """What can be sent: whatever can write itself into a folder."""

    def save_pretrained(self, folder: Path) -> object: ...


def find_model(name_or_path: str | Path, *, revision: str | None = None, token: str | bool | None = None) -> Path:
    """The folder of a model: the one that is named, or what the hub has under a name such as `user/name`.

    What is not there and looks like no name of the hub is returned as it is, for the caller to say what is wrong with it.
    Without a connection, what was fetched before is found again.

    Args:
        name_or_path: a folder goes before a name.
        revision: a branch, a tag or a commit on the hub.
        token: for private models; without, that of `hf auth login`.

    Raises:
        InputError: it is neither here nor there, or may not be seen, or is no model of mproto.
    """
    folder = Path(name_or_path).expanduser()
    name = str(name_or_path)
    if folder.exists() or isinstance(name_or_path, Path) or not HUB_NAME.fullmatch(name):
        if revision is not None:
            what = f"the revision {revision!r} is asked for, and {name!r} is no name of the Hugging Face hub"
            raise InputError(what, hint="leave the revision out, or give a name such as user/name")
        return folder
    hub = _library(f"{name!r} is no folder here, and fetching it from the Hugging Face hub")
    options: dict[str, Any] = {"revision": revision, "token": token, "library_name": "mproto"}
    with _explained(f"{name!r} is no folder here", name, revision):
        if not _answers(hub, name, revision, token):
            options["local_files_only"] = True
        _check_config(name, Path(hub.hf_hub_download(name, CONFIG, **options)))  # before what may be gigabytes
        return Path(hub.snapshot_download(name, allow_patterns=list(FILES), **options))


def push_to_hub(
    recognizer: Saved,
    name: str,
    *,
    private: bool | None = None,
    token: str | bool | None = None,
    revision: str | None = None,
    commit_message: str = "Upload a model of mproto",
) -> str:
    """Send a model to the Hugging Face hub; its address there.

    The files of a model that was there before are replaced, and those that it had and this one has not are removed, so that
    weights of two models never mix. Other files stay.

    Args:
        recognizer: the model.
        name: `user/name`, or a name alone for your own account; made where it does not exist.
        private: whether only you may see it, where it is made; without, what your account has as its default.
        token: one that may write; without, that of `hf auth login`.
        revision: a branch, made where it does not exist.
        commit_message: for its history there.

    Raises:
        InputError: the name cannot be used, you may not write there, or the hub does not answer.
    """
    hub = _library("Sending a model to the Hugging Face hub")
    with _explained(f"the model cannot be sent to {name!r}", name, None), tempfile.TemporaryDirectory() as folder:
        api = hub.HfApi(token=token, library_name="mproto")
        place = api.create_repo(name, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(place.repo_id, branch=revision, exist_ok=True)
        recognizer.save_pretrained(Path(folder))
        api.upload_folder(
            repo_id=place.repo_id,
            folder_path=folder,
            revision=revision,
            commit_message=commit_message,
            delete_patterns=list(FILES),
        )
        return str(place) if revision is None else f"{place}/tree/{quote(revision, safe='')}"


def _library(what: str) -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtraError(what, "hub") from None
    return huggingface_hub


def _answers(hub: Any, name: str, revision: str | None, token: str | bool | None) -> bool:
    """Whether the hub can be reached: one short question, instead of retries for every file. It may answer no."""
    try:
        hub.HfApi(token=token).model_info(name, revision=revision, timeout=TIMEOUT)
    except Exception as error:
        if _is_no_connection(error) or _status(error) >= BROKEN:
            return False
        raise
    return True


def _is_no_connection(error: BaseException | None) -> bool:
    """Whether an error is of the network. The libraries below the hub's have their own, and change with its version."""
    return isinstance(error, ConnectionError) or type(error).__module__.partition(".")[0] in TRANSPORTS


def _check_config(name: str, path: Path) -> None:
    try:
        config = json.loads(path.read_bytes())
    except ValueError:
        config = None
    if not isinstance(config, dict) or "mproto_version" not in config:
        hint = "name one that push_to_hub of mproto sent; an encoder to train with goes to --encoder"
        raise InputError(f"{name!r} on the Hugging Face hub is not a model of mproto", hint=hint)


@contextmanager
def _explained(start: str, name: str, revision: str | None) -> Iterator[None]:
    """What the library raises, as a sentence that begins with `start` and says what to do."""
    try:
        yield
    except Exception as error:
        found = _not_there(error, start, name, revision) or _not_allowed(error, start, name)
        if found is None:
            raise
        raise found from error


def _not_there(error: Exception, start: str, name: str, revision: str | None) -> InputError | None:
    from huggingface_hub import errors

    if isinstance(error, errors.HFValidationError):
        return InputError(f"{start}: {str(error).splitlines()[0].rstrip('.')}", hint="give a name such as user/name")
    if isinstance(error, errors.RevisionNotFoundError):
        what = f"{start}, and on the Hugging Face hub it has no revision {revision!r}"
        return InputError(what, hint="name a branch, a tag or a commit that it has")
    if isinstance(error, errors.LocalEntryNotFoundError):
        what = f"{start}, was not fetched before, and the Hugging Face hub does not answer"
        return InputError(what, hint="connect to it (HF_HUB_OFFLINE forbids that), or give a folder")
    if isinstance(error, errors.EntryNotFoundError):
        what = f"{start}, and {name!r} on the Hugging Face hub is not a model of mproto: it has no {CONFIG}"
        return InputError(what, hint="name one that push_to_hub of mproto sent")
    if _is_no_connection(error.__cause__ if isinstance(error, RuntimeError) else error):  # an upload wraps it
        return InputError(f"{start}: the Hugging Face hub does not answer", hint="connect, and try again")
    return None


def _not_allowed(error: Exception, start: str, name: str) -> InputError | None:
    from huggingface_hub import constants, errors

    if isinstance(error, errors.GatedRepoError):  # a kind of the next
        what = f"{start}, and on the Hugging Face hub its owner lets only some see it"
        return InputError(what, hint=f"ask for access at {constants.ENDPOINT}/{name}, and {LOGIN}")
    if isinstance(error, errors.RepositoryNotFoundError):
        what = f"{start}, and the Hugging Face hub has nothing of that name for you"
        return InputError(what, hint=f"check its spelling, or {LOGIN} if it is private")
    if isinstance(error, errors.LocalTokenNotFoundError) or _status(error) in (401, 403):
        what = f"{start}: the Hugging Face hub does not know you, or does not let you"
        return InputError(what, hint=f"{LOGIN} with a token that may do this")
    if status := _status(error):
        return InputError(f"{start}: the Hugging Face hub answers {status}", hint="try again later")
    return None


def _status(error: Exception) -> int:
    """The status of an answer that is an error; 0 for other errors."""
    from huggingface_hub.errors import HfHubHTTPError

    return error.response.status_code if isinstance(error, HfHubHTTPError) else 0
