"""Models on disk: saved completely or not at all, also over themselves; errors on loading."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mproto import Recognizer
from mproto.errors import InputError
from mproto.persistence import model_folder
from mproto.persistence.files import CONFIG, GRAPH_FILE, MENTIONS, TOKENIZER, WEIGHTS, as_json, read_description
from tiny import documents, tiny_export, tiny_model

TEXTS = [document.text for document in documents()]
KINDS = ["torch", "onnx"]
NETWORK = {"torch": WEIGHTS, "onnx": GRAPH_FILE}


def write(kind: str, folder: Path) -> Path:
    if kind == "torch":
        tiny_model().save_pretrained(folder)
    else:
        shutil.copytree(tiny_export(), folder)
    return folder


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def saved(kind: str, tmp_path: Path) -> Path:
    return write(kind, tmp_path / "model")


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    description = json.loads((folder / CONFIG).read_bytes())
    edit(description)
    (folder / CONFIG).write_bytes(as_json(description))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class TestSaving:
    def test_over_itself_and_elsewhere(self, saved: Path, tmp_path: Path) -> None:
        (saved / "mine.txt").write_text("of somebody else")
        before, ner = names(saved), Recognizer.from_pretrained(saved)
        found = ner(TEXTS, provenance=True)
        ner.card["note"] = "changed since"
        for folder in (saved, tmp_path / "new" / "place"):
            ner.save_pretrained(folder)
            again = Recognizer.from_pretrained(folder)
            assert again(TEXTS, provenance=True) == found
            assert (again.card, again.config) == (ner.card, ner.config)
            assert "changed since" in (folder / "README.md").read_text()
        assert names(saved) == before
        assert names(tmp_path / "new" / "place") == before - {"mine.txt"}

    def test_the_current_directory(self, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ner = Recognizer.from_pretrained(saved)
        monkeypatch.chdir(saved)
        ner.card["note"] = "changed since"
        ner.save_pretrained(".")
        assert Recognizer.from_pretrained(".").card["note"] == "changed since"
        assert names(saved) == names(Path())

    def test_mentions_are_left_out(self, saved: Path, tmp_path: Path) -> None:
        assert MENTIONS in names(saved)
        ner = Recognizer.from_pretrained(saved)
        ner.mentions = None
        for folder in (tmp_path / "other", saved):
            ner.save_pretrained(folder)
            assert MENTIONS not in names(folder)
            assert Recognizer.from_pretrained(folder).mentions is None

    def test_nothing_is_left_of_what_failed(self, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ner = Recognizer.from_pretrained(saved)
        before = {name: (saved / name).read_bytes() for name in names(saved)}

        def full(*_: object) -> None:
            raise OSError("No space left on device")

        monkeypatch.setattr(model_folder, "save_mentions", full)
        for folder in (saved, tmp_path / "other"):
            with pytest.raises(OSError, match="No space left"):
                ner.save_pretrained(folder)
        assert {name: (saved / name).read_bytes() for name in names(saved)} == before
        assert names(tmp_path) == {"model"}

    def test_an_exported_model_whose_files_have_changed(self, tmp_path: Path) -> None:
        """Saving copies the graph from its folder, which may contain another model by then."""
        folder = write("onnx", tmp_path / "model")
        ner = Recognizer.from_pretrained(folder)
        (folder / GRAPH_FILE).write_bytes(b"another")
        with pytest.raises(InputError, match="contains another model than when this one was loaded; load"):
            ner.save_pretrained(tmp_path / "other")
        assert names(tmp_path) == {"model"}

    @pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
    def test_saved_files_have_the_usual_permissions(self, saved: Path, tmp_path: Path, mask: int) -> None:
        ner = Recognizer.from_pretrained(saved)
        before = os.umask(mask)
        try:
            ner.save_pretrained(tmp_path / "new")
        finally:
            os.umask(before)
        modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in (tmp_path / "new").iterdir()}
        assert MENTIONS in modes
        assert modes == dict.fromkeys(modes, oct(0o666 & ~mask))


class TestFiles:
    @pytest.mark.parametrize("name", [TOKENIZER, MENTIONS, "network"])
    def test_another_file(self, saved: Path, kind: str, name: str) -> None:
        path = saved / (NETWORK[kind] if name == "network" else name)
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(InputError, match=f"{path.name}: is not the file that was saved"):
            Recognizer.from_pretrained(saved)
        path.write_bytes(pickle.dumps("evil"))
        with pytest.raises(InputError, match=f"{path.name}: is a pickle"):
            Recognizer.from_pretrained(saved)

    @pytest.mark.parametrize("older", [False, True])
    def test_a_missing_file(self, saved: Path, kind: str, older: bool) -> None:
        if older:
            change(saved, lambda description: description.pop("files"))
        found = Recognizer.from_pretrained(saved)(TEXTS)
        (saved / MENTIONS).unlink()
        assert Recognizer.from_pretrained(saved)(TEXTS) == found  # users may delete mentions
        (saved / TOKENIZER).unlink()
        with pytest.raises(InputError, match="model: does not contain tokenizer.json, which is part of the model"):
            Recognizer.from_pretrained(saved)

    def test_models_of_older_versions(self, saved: Path, kind: str) -> None:
        """They record the fingerprints of fewer files."""
        before = Recognizer.from_pretrained(saved)
        found = before(TEXTS)
        assert any(found)
        change(saved, lambda d: d.update(files={NETWORK[kind]: d["files"][NETWORK[kind]]}))
        (saved / TOKENIZER).write_bytes((saved / TOKENIZER).read_bytes() + b"\n")
        again = Recognizer.from_pretrained(saved)
        assert again(TEXTS) == found
        assert again.tagger.window == before.tagger.window

    def test_the_longest_input_of_models_of_version_0_1(self, tmp_path: Path) -> None:
        """Version 0.1 saved it under another key."""
        folder = write("torch", tmp_path / "model")
        window = Recognizer.from_pretrained(folder).tagger.window
        change(folder, lambda d: d.update(reach=d.pop("max_length")))
        assert Recognizer.from_pretrained(folder).tagger.window == window
        change(folder, lambda d: d.update(reach=window - 1))
        assert Recognizer.from_pretrained(folder).tagger.window == window - 1

    @pytest.mark.parametrize("bias", [-2, 0.25, 1e3])
    def test_the_bias_of_entities(self, bias: float, tmp_path: Path) -> None:
        """It is saved with the model; those of older versions have none."""
        folder = write("torch", tmp_path / "model")
        assert read_description(folder)["entity_bias"] == 1.0 == tiny_model().model.entity_bias
        change(folder, lambda d: d.update(entity_bias=bias))
        ner = Recognizer.from_pretrained(folder)
        assert ner.model.entity_bias == bias
        ner.save_pretrained(folder)
        assert read_description(folder)["entity_bias"] == bias
        change(folder, lambda d: d.pop("entity_bias"))
        assert Recognizer.from_pretrained(folder).model.entity_bias == 0.0

    @pytest.mark.parametrize("name", [TOKENIZER, MENTIONS, "network"])
    def test_a_file_that_may_not_be_read(
        self, saved: Path, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Simulate missing permissions: the tests may run as root, which can read everything."""
        path, open_ = saved / (NETWORK[kind] if name == "network" else name), Path.open

        def closed(self: Path, *args: Any, **options: Any) -> Any:
            if self == path:
                raise PermissionError(13, "Permission denied", str(self))
            return open_(self, *args, **options)

        monkeypatch.setattr(Path, "open", closed)
        with pytest.raises(InputError, match=rf"{path.name}: cannot be read \(Permission denied\); check"):
            Recognizer.from_pretrained(saved)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, where: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return every place in a description: whole parts and single values."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [where, *(place for key, part in inner for place in places(part, (*where, key)))]


class TestDescriptions:
    @pytest.mark.parametrize("kind", KINDS)
    @settings(max_examples=60)
    @given(data=st.data())
    def test_any_value_in_any_place(
        self, kind: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        """The model either works, or loading it fails with a one-sentence error."""
        folder = write(kind, tmp_path_factory.mktemp("any") / "model")
        description = read_description(folder)
        own = {key: value for key, value in description.items() if key not in ("settings", "encoder")}
        where = data.draw(st.sampled_from(places(own)[1:]))
        value = data.draw(VALUES)

        def replace(description: Any) -> None:
            *outer, last = where
            for key in outer:
                description = description[key]
            description[last] = value

        change(folder, replace)
        said = str(folder)
        try:
            ner = Recognizer.from_pretrained(folder)
        except InputError as error:
            said = str(error)
        else:
            ner(TEXTS)
            ner.save_pretrained(folder)
        assert said.startswith(str(folder))
        assert "\n" not in said
        shutil.rmtree(folder)

    @pytest.mark.parametrize(
        ("kind", "key", "values"),
        [
            *[(kind, "files", (None, [], "x", 3, {"model.safetensors": 3})) for kind in KINDS],
            *[(kind, "card", ("x", 3, [])) for kind in KINDS],
            *[(kind, "labels", (None, [], "Disease", 3, ["A", "A"], ["A", 1], {})) for kind in KINDS],
            *[(kind, "settings", (None, [], 3)) for kind in KINDS],
            *[(kind, "encoder", (None, [], "x")) for kind in KINDS],
            *[("torch", key, (-1, 0, 1.5, "x", None, True)) for key in ("max_length", "reach")],
            ("torch", "calibration", (-1, 0, "x", None, float("nan"), float("inf"))),
            ("torch", "entity_bias", ("x", None, True, [1.0], float("nan"), float("-inf"))),
            ("onnx", "onnx", (None, [], "x", 3)),
            ("onnx", "tags", (None, [], ["O"], ["O", "I-Disease"], [1, 2, 3], "O", ["O", "I-Chemical", "I-Disease"])),
            ("onnx", "prototype_names", (None, ["O-1"], [1], "x", ["O-1", "Disease-2", "Chemical-1"], ["O-1"] * 9)),
            ("onnx", "tokens", (None, [], 3)),
        ],
    )
    def test_a_value_that_cannot_be(self, kind: str, key: str, values: tuple[object, ...], tmp_path: Path) -> None:
        folder = write(kind, tmp_path / "model")
        for value in values:
            change(folder, lambda description, value=value: description.update({key: value}))
            with pytest.raises(InputError, match=rf"config.json: '{key}(\..*)?' is .*, and must be "):
                Recognizer.from_pretrained(folder)

    @pytest.mark.parametrize(("key", "kind"), [("max_length", "torch"), ("tokens.window", "onnx")])
    def test_windows_without_room(self, key: str, kind: str, tmp_path: Path) -> None:
        folder = write(kind, tmp_path / "model")
        change(folder, lambda d: d.update(max_length=2) if kind == "torch" else d["tokens"].update(window=2))
        with pytest.raises(InputError, match=f"config.json: '{key}' is 2, and must be more than"):
            Recognizer.from_pretrained(folder)

    @pytest.mark.parametrize("fewer", [{"labels": 1, "tags": 2, "prototype_names": 6}, {"prototype_names": 0}])
    def test_names_that_do_not_fit_the_graph(self, fewer: dict[str, int], tmp_path: Path) -> None:
        folder = write("onnx", tmp_path / "model")
        change(folder, lambda d: d.update({key: d[key][:count] for key, count in fewer.items()}))
        with pytest.raises(InputError, match=r"model.onnx: has \d \w+, but config.json names \d; export"):
            Recognizer.from_pretrained(folder)

    def test_unknown_sub_words(self, tmp_path: Path) -> None:
        folder = write("onnx", tmp_path / "model")
        change(folder, lambda d: d["tokens"].update(pad=99_999))
        with pytest.raises(InputError, match="config.json: 'tokens.pad' is 99999, but the tokenizer has no such"):
            Recognizer.from_pretrained(folder)

    @pytest.mark.parametrize(
        ("encoding", "message"), [("utf-8-sig", "is not JSON.*BOM"), ("utf-16", "is not UTF-8: byte 1 is 0xff")]
    )
    def test_other_encodings(self, saved: Path, encoding: str, message: str) -> None:
        text = (saved / CONFIG).read_text("utf-8")
        (saved / CONFIG).write_text(text, encoding)
        with pytest.raises(InputError, match=f"config.json: {message}"):
            Recognizer.from_pretrained(saved)

    def test_brackets_without_end(self, saved: Path) -> None:
        (saved / CONFIG).write_text("[" * 100_000)
        with pytest.raises(InputError, match="config.json: is not JSON"):
            Recognizer.from_pretrained(saved)


def test_a_graph_with_other_inputs_or_outputs(tmp_path: Path) -> None:
    folder = write("onnx", tmp_path / "model")
    change(folder, lambda description: description.pop("files"))
    graph = onnx.load(folder / GRAPH_FILE)
    for messages, part in (
        ("has the input 'other' of", graph.graph.input),
        ("lacks the output 'tags'", graph.graph.output),
    ):
        changed = copy(graph)
        changed.CopyFrom(graph)
        values = changed.graph.input if part is graph.graph.input else changed.graph.output
        old = next(value for value in values if value.name in ("input_ids", "tags"))
        for node in changed.graph.node:
            node.input[:] = ["other" if name == old.name else name for name in node.input]
            node.output[:] = ["other" if name == old.name else name for name in node.output]
        old.name = "other"
        onnx.save(changed, folder / GRAPH_FILE)
        with pytest.raises(InputError, match=f"model.onnx: {messages}"):
            Recognizer.from_pretrained(folder)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d["encoder"]["config"].update(model_type="nonsense"), "nonsense"),
        (lambda d: d["encoder"]["config"].update(hidden_size=64), r"shape of its .* is \[.*32\], .* must be \[.*64\]"),
        (lambda d: d["encoder"]["config"].update(hidden_size="wide"), "hidden_size"),
    ],
)
def test_errors_of_other_libraries_are_one_sentence(
    edit: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    folder = write("torch", tmp_path / "model")
    change(folder, edit)
    with pytest.raises(InputError, match=f"is not a complete model: .*{message}") as caught:
        Recognizer.from_pretrained(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(folder)) + 200


@pytest.mark.parametrize("content", [b"{}", b"", b"[", b'{"version": "1.0", "added_tokens": [], "model": {}}'])
def test_an_invalid_tokenizer(content: bytes, saved: Path) -> None:
    change(saved, lambda description: description["files"].pop(TOKENIZER))
    (saved / TOKENIZER).write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read") as caught:
        Recognizer.from_pretrained(saved)
    assert "\n" not in str(caught.value)
