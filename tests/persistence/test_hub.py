"""Models on the Hugging Face hub, against a stand-in on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from hub_server import TOKEN, USER, Hub, serve
from mproto import Recognizer
from mproto.errors import InputError, MissingExtraError
from mproto.persistence.hub import find_model, push_to_hub
from tiny import documents, tiny_export, tiny_model

MODEL = {"config.json": b'{"mproto_version": "0"}', "model.safetensors": b"numbers", "tokenizer.json": b"{}"}
NAME = f"{USER}/model"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub, an empty cache, and no login."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    huggingface_hub.close_session()
    with serve() as hub:
        point_to(monkeypatch, hub.address)
        yield hub
        huggingface_hub.close_session()


def point_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Do what HF_ENDPOINT does, after the library has been imported."""
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def nobody_listens() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # the library's own, between it and httpx
@pytest.mark.parametrize("large", [False, True])
def test_there_and_back(hub: Hub, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.large = large
    if large:  # Xet has a protocol of its own; LFS does for a test
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    address = push_to_hub(tiny_model(), NAME, private=True, token=TOKEN, commit_message="Ours")
    assert address == f"{hub.address}/{NAME}"
    repository = hub.repositories[NAME]
    assert repository.private
    assert repository.messages[-1] == "Ours"
    assert bool(hub.uploads) == large
    with pytest.raises(
        InputError, match="no repository of that name that you may see; .*`hf auth login` if it is private"
    ):
        find_model(NAME)
    folder = find_model(NAME, token=TOKEN)
    assert {"config.json", "README.md", "model.safetensors", "tokenizer.json"} <= {f.name for f in folder.iterdir()}
    again = Recognizer.from_pretrained(folder)
    assert again.predict_entities(documents()) == tiny_model().predict_entities(documents())


def test_mentions_that_are_left_out_are_not_sent(hub: Hub) -> None:
    for ner in (copy(tiny_model()), Recognizer.from_pretrained(tiny_export())):
        push_to_hub(ner, NAME, token=TOKEN)
        repository = hub.repositories[NAME]
        assert "mentions.safetensors" in repository.commits[repository.branches["main"]]
        ner.mentions = None
        push_to_hub(ner, NAME, token=TOKEN)
        assert "mentions.safetensors" not in repository.commits[repository.branches["main"]]
        assert Recognizer.from_pretrained(find_model(NAME)).mentions is None


def test_a_second_model_takes_the_place_of_the_first(hub: Hub) -> None:
    class Two:
        files: tuple[str, ...] = ("config.json", "model.safetensors", "model.onnx")

        def save_pretrained(self, folder: Path) -> None:
            for file in self.files:
                (folder / file).write_text(f"{self.files}")

    model = Two()
    assert push_to_hub(model, "model", token=TOKEN) == f"{hub.address}/{NAME}"
    repository = hub.repositories[NAME]
    assert not repository.private
    repository.commits[repository.branches["main"]]["LICENSE"] = b"mine"
    model.files = model.files[:2]
    push_to_hub(model, NAME, token=TOKEN)
    files = repository.commits[repository.branches["main"]]
    assert sorted(files) == [".gitattributes", "LICENSE", "config.json", "model.safetensors"]
    assert files["config.json"] == f"{model.files}".encode()
    model.files = ("config.json",)
    assert push_to_hub(model, NAME, revision="try/2", token=TOKEN) == f"{hub.address}/{NAME}/tree/try%2F2"
    assert sorted(repository.commits[repository.branches["try/2"]]) == [".gitattributes", "LICENSE", "config.json"]
    assert repository.commits[repository.branches["main"]] == files


def test_only_files_of_a_model_are_fetched(hub: Hub) -> None:
    unsafe = dict.fromkeys(["pytorch_model.bin", "model.pkl", "run.py", "training_args.bin", "x.joblib"], b"evil")
    hub.add(NAME, {**MODEL, **unsafe, "README.md": b"#"})
    folder = find_model(NAME)
    assert sorted(file.name for file in folder.iterdir()) == sorted([*MODEL, "README.md"])
    assert not set(unsafe) & set(hub.fetched)


def test_revisions(hub: Hub) -> None:
    repository = hub.add(NAME, MODEL)
    sha = repository.commit("old", {**MODEL, "model.safetensors": b"older"})
    for revision in ("old", sha):
        assert (find_model(NAME, revision=revision) / "model.safetensors").read_bytes() == b"older"
    assert (find_model(NAME) / "model.safetensors").read_bytes() == b"numbers"
    with pytest.raises(InputError, match="it has no revision 'new'; name one of its branches"):
        find_model(NAME, revision="new")
    with pytest.raises(InputError, match="revision 'new' is given, but 'here' is not a name"):
        find_model("here", revision="new")


def test_what_was_fetched_is_found_without_a_connection(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(NAME, MODEL)
    before = find_model(NAME)
    hub.broken, hub.asked = True, 0
    assert find_model(NAME) == before
    assert hub.asked == 1  # retries would look like a program that hangs
    point_to(monkeypatch, nobody_listens())
    assert find_model(NAME) == before
    with pytest.raises(InputError, match="is not a folder here, was not fetched before, and .* does not answer"):
        find_model("somebody/else")
    with pytest.raises(InputError, match="cannot be pushed to 'somebody/model': the Hugging Face hub does not answer"):
        push_to_hub(tiny_model(), NAME, token=TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert find_model(NAME) == before
    with pytest.raises(InputError, match="HF_HUB_OFFLINE"):
        find_model("somebody/else")


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "absent": (
        lambda: find_model("some/thing"),
        "'some/thing' is not a folder here, and .* has no repository of that name",
    ),
    "gated": (
        lambda: find_model("some/gated"),
        "its owner restricts access to it; ask for access at .*/some/gated, and run",
    ),
    "encoder": (
        lambda: find_model("some/encoder"),
        "'some/encoder' on the Hugging Face hub is not a model of mproto; ",
    ),
    "text": (lambda: find_model("some/text"), "'some/text' on the Hugging Face hub is not a model of mproto; "),
    "no config": (lambda: find_model("some/data"), "is not a model of mproto: it has no config.json"),
    "name": (lambda: find_model("some/--bad"), "'some/--bad' is not a folder here: .*; give a name such as user/name"),
    "stranger": (
        lambda: push_to_hub(tiny_model(), NAME),
        "cannot be pushed to .*: .* denies access; run `hf auth login`",
    ),
    "others": (lambda: push_to_hub(tiny_model(), "other/model", token=TOKEN), "the Hugging Face hub denies access"),
    "wrong name": (lambda: push_to_hub(tiny_model(), "a b", token=TOKEN), "'a b': .*; give a name such as user/name"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_say_what_to_do(hub: Hub, case: str) -> None:
    hub.add("some/gated", MODEL, gated=True)
    hub.add("some/encoder", {**MODEL, "config.json": b'{"model_type": "bert"}'})
    hub.add("some/text", {**MODEL, "config.json": b"text"})
    hub.add("some/data", {"README.md": b"#"})
    call, match = WRONG[case]
    with pytest.raises(InputError, match=match) as raised:
        call()
    assert "\n" not in str(raised.value)
    assert "model.safetensors" not in hub.fetched


def test_folders_go_before_names(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some" / "model").mkdir(parents=True)
    for place in ("some/model", "nowhere", "./some/other", "a/b/c", tmp_path, Path("some/absent"), "../x"):
        assert find_model(place) == Path(place)
    assert find_model("~/absent") == Path.home() / "absent"
    assert not hub.fetched


def test_without_torch_and_by_the_variable(hub: Hub, tmp_path: Path) -> None:
    """As for a user: with HF_ENDPOINT, in a new process."""
    hub.add(NAME, MODEL)
    code = (
        "import sys; from mproto.persistence.hub import find_model\n"
        "assert 'huggingface_hub' not in sys.modules\n"
        f"print((find_model('{NAME}') / 'model.safetensors').read_text())\n"
        "assert 'torch' not in sys.modules"
    )
    env = {**os.environ, "HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "numbers"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for call in (lambda: find_model("some/model"), lambda: push_to_hub(tiny_model(), NAME)):
        with pytest.raises(MissingExtraError, match=r"pip install 'mproto-ner\[hub\]'"):
            call()
    assert find_model("somewhere") == Path("somewhere")
