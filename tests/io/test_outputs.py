from __future__ import annotations

import errno
import stat
from pathlib import Path
from typing import IO

import pytest

from mproto.errors import InputError, MprotoError
from mproto.io.atomic import atomic_folder
from mproto.io.outputs import Outputs


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_appear_together_at_the_end(tmp_path: Path) -> None:
    with Outputs() as outputs:
        outputs.open(tmp_path / "a").write(b"1")
        outputs.open(tmp_path / "b").write(b"2")
        assert not {"a", "b"} & set(names(tmp_path))
    assert names(tmp_path) == ["a", "b"]
    assert (tmp_path / "b").read_bytes() == b"2"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_new(error: type[BaseException], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(error), Outputs(force=True) as outputs:
        outputs.open(tmp_path / "a").write(b"new")
        outputs.folder(tmp_path / "f", (".txt",)).write("x.txt", b"1")
        raise error
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = Outputs()

    class Full:
        def __init__(self, stream: IO[bytes]) -> None:
            self.stream = stream

        def close(self) -> None:
            self.stream.close()
            raise OSError(errno.ENOSPC, "No space left on device", "a")

    with pytest.raises(MprotoError, match="cannot write a: No space left on device"), outputs:
        outputs._open.append(Full(outputs.open(tmp_path / "a")))  # type: ignore[arg-type]
    assert names(tmp_path) == []


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    with Outputs() as outputs:
        outputs.open(tmp_path / "a")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_folders_too(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with Outputs() as outputs:
        outputs.folder(tmp_path / "f", (".txt",)).write("big.txt", b"x" * 5_000_000)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert (tmp_path / "f" / "big.txt").stat().st_size == 5_000_000


def test_existing_files_are_kept_without_force(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(InputError, match="exists already"), Outputs() as outputs:
        outputs.open(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_folder_that_holds_the_current_directory_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    for path in (Path(), tmp_path / "out"):
        with (
            pytest.raises(InputError, match="is the current directory, or contains it"),
            Outputs(force=True) as outputs,
        ):
            outputs.folder(path, (".txt",))
        with pytest.raises(InputError, match="exists already"), Outputs() as outputs:
            outputs.folder(path, (".txt",))
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == []


class TestAtomicFolder:
    """Files that another library writes."""

    @pytest.fixture
    def old(self, tmp_path: Path) -> Path:
        folder = tmp_path / "folder"
        folder.mkdir()
        for name in ("a", "gone", "mine"):
            (folder / name).write_text("old")
        return folder

    def test_files_appear_together(self, old: Path) -> None:
        with atomic_folder(old, discard=("gone", "a", "never")) as place:
            (place / "a").write_text("new")
            (place / "b").write_text("new")
            assert {name for name in names(old) if not name.startswith(".")} == {"a", "gone", "mine"}
            assert (old / "a").read_text() == "old"
        assert {path.name: path.read_text() for path in old.iterdir()} == {"a": "new", "b": "new", "mine": "old"}

    def test_other_files_are_kept_as_they_are(self, old: Path) -> None:
        old.chmod(0o700)
        (old / "inner").mkdir()
        (old / "inner" / "data").write_text("old")
        (old / "link").symlink_to("inner/data")
        (old / ".x.01234567.partial").write_text("of a writer that was killed")
        with atomic_folder(old) as place:
            (place / "a").write_text("new")
        assert names(old) == ["a", "gone", "inner", "link", "mine"]
        assert (old / "link").readlink() == Path("inner/data")
        assert (old / "link").read_text() == "old"
        assert stat.S_IMODE(old.stat().st_mode) == 0o700

    def test_a_link_is_followed(self, old: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(old)
        with atomic_folder(tmp_path / "link") as place:
            (place / "a").write_text("new")
        assert (tmp_path / "link").readlink() == old
        assert (old / "a").read_text() == "new"
        assert names(tmp_path) == ["folder", "link"]

    @pytest.mark.parametrize("inner", [False, True])
    def test_the_current_directory_stays_where_it_is(
        self, inner: bool, old: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (old / "inner").mkdir()
        monkeypatch.chdir(old / "inner" if inner else old)
        with atomic_folder(old if inner else Path(), discard=("gone",)) as place:
            (place / "a").write_text("new")
            assert (old / "a").read_text() == "old"
        assert Path("../a" if inner else "a").read_text() == "new"
        assert names(old) == ["a", "inner", "mine"]

    def test_a_file_is_not_a_folder(self, old: Path) -> None:
        with pytest.raises(NotADirectoryError), atomic_folder(old / "a"):
            pass
        assert (old / "a").read_text() == "old"

    @pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
    def test_after_an_error_nothing_changes(self, old: Path, tmp_path: Path, error: type[BaseException]) -> None:
        for folder in (old, tmp_path / "new"):
            with pytest.raises(error), atomic_folder(folder, discard=("gone",)) as place:
                (place / "a").write_text("new")
                raise error
        assert {path.name: path.read_text() for path in old.iterdir()} == dict.fromkeys(("a", "gone", "mine"), "old")
        assert names(tmp_path) == ["folder"]
