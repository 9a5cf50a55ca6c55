from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from mproto.errors import InputError, Notes
from mproto.io.sources import Source


def test_progress_adds_up_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"line\n" * 50_000)
    counted: list[int] = []
    assert sum(1 for _ in Source(path, on_bytes=counted.append).raw_lines()) == 50_000
    assert sum(counted) == path.stat().st_size
    other = tmp_path / "y"
    other.write_bytes(b"abc\n")
    notes = Notes()
    sibling = Source(path, notes, counted.append).beside(other)
    assert sibling.notes is notes
    assert list(sibling.lines()) == [(1, "abc")]
    assert sum(counted) == path.stat().st_size + 4


def test_only_the_first_byte_order_mark_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("\ufeffa\n\ufeffb\n".encode())
    assert [text for _, text in Source(path).lines()] == ["a", "\ufeffb"]


def test_invalid_bytes_are_located(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one\ntwo\nth\xffree\nfour")
    for read in (lambda: Source(path).text(), lambda: list(Source(path).lines())):
        with pytest.raises(InputError, match=r"x, line 3: byte b'\\xff' at column 3 is not UTF-8"):
            read()


def test_the_head_is_not_consumed(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfabc\n"))
    source = Source(path)
    assert source.head() == b"abc\n"
    assert source.head() == b"abc\n"
    assert list(source.lines()) == [(1, "abc")]
    assert source.suffix == ""
    assert Source("a/B.JSONL.gz").suffix == ".jsonl"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("read_head_first", [False, True])
def test_a_named_pipe_is_read_whole(packed: bool, read_head_first: bool, tmp_path: Path) -> None:
    path, content = tmp_path / "x", "abc\n" * 50_000
    os.mkfifo(path)
    data = gzip.compress(content.encode()) if packed else content.encode()
    writer = threading.Thread(target=lambda: path.write_bytes(data))
    writer.start()
    source = Source(path)
    if read_head_first:
        assert source.head().startswith(b"abc\n")
    assert source.text() == content
    writer.join()


def test_a_truncated_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(bytes(range(10, 256)) * 5000)[:-20])
    for read in (lambda: Source(path).text(), lambda: list(Source(path).raw_lines())):
        with pytest.raises(InputError, match=r"x.gz: is damaged or cut short .*; copy or download it again"):
            read()


def test_a_file_may_be_called_like_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("abc\n")
    assert Source("./-").text() == "abc\n"


def test_standard_input_has_a_name() -> None:
    assert str(Source("-").error("is wrong")) == "standard input: is wrong"
