"""Sidecar files: names are only added, and concurrent writers agree on them."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.errors import Notes
from mproto.io.sources import Source
from mproto.text import Document, WordSpan, read_documents, write_documents

FORMATS = {"conf-mpu": ("a.txt", "b.txt"), "roster": ("a_text.txt", "b_text.txt"), "bond": ("a.json", "b.json")}
LABELS = st.sampled_from(["A", "B", "geo-loc", "病", "O"])


def document(*labels: str) -> Document:
    """Make a document with a word for each label, each followed by a word without one."""
    words = [word for label in labels for word in (f"w-{label}", "and")]
    return Document.from_words(words, [WordSpan(2 * i, 2 * i + 1, label) for i, label in enumerate(labels)])


def labels_of(path: Path, format: str) -> list[str]:
    return [span.label for d in read_documents(Source(path, Notes()), format) for span in d.word_spans]


def names(folder: Path) -> set[str]:
    """Return the names in the folder's sidecar."""
    if (folder / "tag_to_id.json").exists():
        return {tag[2:] for tag in json.loads((folder / "tag_to_id.json").read_text()) if tag != "O"}
    return set((folder / "types.txt").read_text().split())


@pytest.mark.parametrize("format", FORMATS)
def test_two_writers_agree(format: str, tmp_path: Path) -> None:
    """A second writer starts during the first one: neither loses labels, and no numbers are swapped."""
    first, second = (tmp_path / name for name in FORMATS[format])
    other = threading.Thread(target=lambda: write_documents([document("Y", "X")], second, format, notes=Notes()))

    def documents() -> Iterator[Document]:
        yield document("X")
        other.start()
        other.join(0.3)  # ends by itself where nobody makes it wait
        yield document("Z")

    write_documents(documents(), first, format, notes=Notes())
    other.join()
    assert labels_of(first, format) == ["X", "Z"]
    assert labels_of(second, format) == ["Y", "X"]
    assert names(tmp_path) == {"X", "Y", "Z"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("format", FORMATS)
def test_a_failed_writer_releases_the_lock(format: str, tmp_path: Path) -> None:
    def documents() -> Iterator[Document]:
        yield document("X")
        raise RuntimeError

    path = tmp_path / FORMATS[format][0]
    with pytest.raises(RuntimeError):
        write_documents(documents(), path, format, notes=Notes())
    assert list(tmp_path.iterdir()) == []
    write_documents([document("Y")], path, format, notes=Notes())
    assert labels_of(path, format) == ["Y"]


@pytest.mark.parametrize("format", ["conf-mpu", "roster"])
@given(
    old=st.lists(st.sampled_from(["A", "B", "  A", "O", "", " \t", "病"])),
    end=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
    labels=st.lists(LABELS, min_size=1, unique=True),
)
def test_existing_names_are_kept(format: str, old: list[str], end: str, closed: bool, labels: list[str]) -> None:
    before = (end.join(old) + end * closed).encode() or b"O"  # an empty file is said to be broken
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "types.txt").write_bytes(before)
        path = folder / FORMATS[format][0]
        write_documents([document(*labels)], path, format, notes=Notes())
        after = (folder / "types.txt").read_bytes()
        assert after.startswith(before)
        held = [_held(label, format) for label in labels]
        listed = {"O", *before.decode().split()}
        assert after[len(before) :].decode().split() == [label for label in held if label not in listed]
        assert labels_of(path, format) == held


def _held(label: str, format: str) -> str:
    """Return the label as it is written; Conf-MPU has no number for a label `O`."""
    return "O_" if label == "O" and format == "conf-mpu" else label
