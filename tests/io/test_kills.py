"""Files and folders are the old ones or the new ones, whenever their writer is killed."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from kills import content, killed_at_each_step
from mproto import Document, Span, read_documents, write_documents
from mproto.io.atomic import write_file
from mproto.io.outputs import Outputs
from mproto.io.replacement import recover

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills a forked process")


def brat(number: int) -> list[Document]:
    return [Document(f"text {i} of {number}", (Span(0, 4, "A"),), id=f"{number}-{i}") for i in range(3 - number)]


@pytest.mark.parametrize("looks_first", [False, True])
def test_a_folder_of_brat(looks_first: bool, tmp_path: Path) -> None:
    for number in (0, 1):
        write_documents(brat(number), tmp_path / f"reference{number}", "brat")
    old, new = (content(tmp_path / f"reference{number}") for number in (0, 1))
    numbers = count()

    def prepare() -> Path:
        (folder := tmp_path / str(next(numbers))).mkdir()
        write_documents(brat(0), folder / "out", "brat")
        return folder

    seen = []
    for folder in killed_at_each_step(prepare, lambda f: write_documents(brat(1), f / "out", "brat", force=True)):
        if looks_first:
            recover(folder / "out")
            seen.append(content(folder / "out"))
            assert seen[-1] in (old, new)
            assert len(list(read_documents(folder / "out"))) in (3, 2)
        write_documents(brat(1), folder / "out", "brat", force=True)
        assert content(folder / "out") == new
        assert [path.name for path in folder.iterdir()] == ["out"]
    if looks_first:
        assert seen[0] == old
        assert seen[-1] == new


def test_an_output_that_was_moved_aside_still_exists(tmp_path: Path) -> None:
    """Without --force, it is not overwritten."""
    numbers = count()

    def prepare() -> Path:
        (folder := tmp_path / str(next(numbers))).mkdir()
        write_documents(brat(0), folder / "out", "brat")
        return folder

    for folder in killed_at_each_step(prepare, lambda f: write_documents(brat(1), f / "out", "brat", force=True)):
        with pytest.raises(Exception, match="exists already"):
            write_documents(brat(1), folder / "out", "brat")
        assert {len(list(read_documents(folder / "out")))} <= {2, 3}


@pytest.mark.parametrize("way", ["write_file", "outputs"])
def test_a_file(way: str, tmp_path: Path) -> None:
    def write(folder: Path, data: bytes) -> None:
        if way == "write_file":
            write_file(folder / "file", data)
        else:
            with Outputs(force=True) as outputs:
                outputs.open(folder / "file").write(data)

    numbers = count()

    def prepare() -> Path:
        (folder := tmp_path / str(next(numbers))).mkdir()
        write(folder, b"old")
        return folder

    seen = []
    for folder in killed_at_each_step(prepare, lambda folder: write(folder, b"new")):
        seen.append((folder / "file").read_bytes())
        write(folder, b"newer")
        assert content(folder) == {"file": b"newer"}
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {b"old", b"new"}


OFTEN = """
import sys
from mproto.io.outputs import Outputs

for number in range(100):
    with Outputs(force=True) as outputs:
        folder = outputs.folder(sys.argv[1], (".txt",))
        for name in ("a.txt", "b.txt"):
            folder.write(name, sys.argv[2].encode())
"""
RECOVER = """
import sys
from pathlib import Path
from mproto.io.replacement import recover

path = Path(sys.argv[1])
for number in range(3000):
    recover(path)
"""


def test_several_writers_and_readers_of_one_folder(tmp_path: Path) -> None:
    """A folder that a running writer has renamed is not taken for a killed writer's."""
    path = tmp_path / "out"
    path.mkdir()
    calls = [[OFTEN, path, "one"], [OFTEN, path, "two"], [OFTEN, path, "six"], [RECOVER, path]]
    running = [subprocess.Popen([sys.executable, "-c", *call], stderr=subprocess.PIPE) for call in calls]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    found = content(path)
    assert set(found) == {"a.txt", "b.txt"}
    assert len(set(found.values())) == 1
    assert [left.name for left in tmp_path.iterdir()] == ["out"]
