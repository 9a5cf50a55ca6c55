"""`mproto encoders` on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mproto.models.available import EMBEDDED


def run(*arguments: str, cache: Path, code: str = "") -> subprocess.CompletedProcess[str]:
    """The command with a hub cache of its own; `code` runs before it."""
    main = f"{code}\nimport sys\nfrom mproto.cli import main\nsys.exit(main(sys.argv[1:]))"
    environment = os.environ | {"HF_HUB_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", main, "encoders", *arguments], capture_output=True, text=True, env=environment
    )


def put(cache: Path, name: str, config: object, *, weights: bool) -> None:
    """A model in the hub's cache."""
    folder = cache / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("a" * 40)
    (snapshot / "config.json").write_text(json.dumps(config))
    if weights:
        (snapshot / "model.safetensors").write_bytes(bytes(2_000_000))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    put(tmp_path, "me/encoder", {"model_type": "bert"}, weights=True)
    put(tmp_path, "me/old", {"model_type": "bert"}, weights=False)
    put(tmp_path, "me/decoder", {"model_type": "gpt2"}, weights=True)
    put(tmp_path, "me/broken", ["no object"], weights=True)
    return tmp_path


def test_json_and_text(cache: Path) -> None:
    """Both from one process, since most of its time goes into loading."""
    done = run(cache=cache, code="from mproto.cli import main\nassert main(['encoders', '--json']) == 0\nprint('---')")
    as_json, as_text = done.stdout.split("---\n")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(as_json)
    assert shown["default"] == EMBEDDED
    first, *others = shown["encoders"]
    assert first["name"] == EMBEDDED
    assert [(encoder["name"], encoder["ok"]) for encoder in others] == [
        ("me/broken", False),
        ("me/decoder", False),
        ("me/encoder", True),
        ("me/old", False),
    ]
    assert others[2]["megabytes"] == pytest.approx(2, abs=0.1)
    assert "safetensors" in others[3]["problem"]
    assert f"{EMBEDDED}  (default)\n" in as_text
    assert "me/encoder\n  ready, 2 MB\n" in as_text
    assert "me/decoder\n  cannot be used: gpt2 is a decoder" in as_text
    assert "save_pretrained" in as_text


def test_no_cache_at_all(tmp_path: Path) -> None:
    done = run("--json", cache=tmp_path / "nowhere")
    assert [encoder["name"] for encoder in json.loads(done.stdout)["encoders"]] == [EMBEDDED]


def test_an_empty_cache_needs_no_torch(tmp_path: Path) -> None:
    code = "import atexit, sys\natexit.register(lambda: sys.stderr.write(str('torch' in sys.modules)))"
    assert run(cache=tmp_path, code=code).stderr == "False"


def test_without_the_extra_the_error_has_the_pip_command(tmp_path: Path) -> None:
    done = run(cache=tmp_path, code="import sys\nsys.modules['torch'] = None")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "mproto encoders: A neural network needs an optional package; run: pip install 'mproto-ner[train]'\n"
    )
