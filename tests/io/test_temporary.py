"""The next output of a name removes temporary files of killed processes, not of running ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mproto.io import temporary as names
from mproto.io.outputs import Outputs

WRITING = """
import sys
from pathlib import Path
from mproto.io.outputs import Outputs

with Outputs(force=True) as outputs:
    path = Path(sys.argv[2])
    if sys.argv[1] == "file":
        outputs.open(path).write(b"other")
    else:
        outputs.folder(path, (".txt",)).write("other.txt", b"other")
    print("writing", flush=True)
    sys.stdin.readline()
"""
OFTEN = """
import sys
from mproto.io.outputs import Outputs

for number in range(150):
    with Outputs(force=True) as outputs:
        outputs.open(sys.argv[1]).write(b"whole")
"""


@contextmanager
def writer(kind: str, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that begins to write and ends when it gets a line."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, kind, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"writing\n"
        yield process


def write(kind: str, path: Path) -> None:
    with Outputs(force=True) as outputs:
        if kind == "file":
            outputs.open(path).write(b"mine")
        else:
            outputs.folder(path, (".txt",)).write("mine.txt", b"mine")


def temporaries(folder: Path) -> set[Path]:
    return set(folder.glob(".*.partial"))


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_of_the_dead_and_the_living(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "out[1]"
    with writer(kind, path) as killed, writer(kind, path) as living:
        both = temporaries(tmp_path)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert temporaries(tmp_path) == both
        write(kind, path)
        (left,) = temporaries(tmp_path)
        assert left in both
        living.communicate(b"\n")
        assert living.returncode == 0
    written = path if kind == "file" else path / "other.txt"
    assert written.read_bytes() == b"other"
    assert not temporaries(tmp_path)


def test_only_those_of_this_output(tmp_path: Path) -> None:
    own = [".a.jsonl.s78_zz49.partial", ".a.jsonl.00000000.partial"]
    others = [
        ".b.jsonl.s78_zz49.partial",
        ".a.jsonl.x.s78_zz49.partial",
        ".a.jsonl.short.partial",
        ".a_jsonl.s78_zz49.old",
    ]
    for name in own + others:
        (tmp_path / name).write_bytes(b"half")
    write("file", tmp_path / "a.jsonl")
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", *others}


def test_many_at_once_do_not_take_each_other_for_dead(tmp_path: Path) -> None:
    path = tmp_path / "out"
    running = [subprocess.Popen([sys.executable, "-c", OFTEN, path], stderr=subprocess.PIPE) for _ in range(4)]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    assert path.read_bytes() == b"whole"
    assert [found.name for found in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("when", ["before", "meanwhile", "after"])
def test_one_that_is_cleared_before_it_is_locked(when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, made = names.try_lock, list[Path]()

    def late(path: Path) -> int | None:
        made.append(path)
        if len(made) > 1:
            return lock(path)
        if when == "before":
            path.unlink()
            return lock(path)
        held = lock(path)
        try:
            return lock(path) if when == "meanwhile" else held
        finally:
            path.unlink()

    monkeypatch.setattr(names, "try_lock", late)
    temporary, held = names.make_temporary(tmp_path / "out")
    assert held is not None
    os.close(held)
    assert temporary == made[1] != made[0]
    assert temporary.exists()
