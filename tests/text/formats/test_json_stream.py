from __future__ import annotations

import json
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.errors import InputError
from mproto.io.sources import Source
from mproto.text.formats import json_stream
from mproto.text.formats.json_stream import json_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=4), max_size=5),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_same_as_json_loads_for_all_chunk_sizes(values: list[object], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only) + "\n"
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "x"
        path.write_text(text, encoding="utf-8", newline="")
        for chunk in (1, 3, 17, 1 << 16):
            patch.setattr(json_stream, "CHUNK", chunk)
            assert [value for _, value in json_values(Source(path))] == values


def test_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('[\n{"a":\n1},\n\n{"b": 2}]\n')
    assert list(json_values(Source(path))) == [(2, {"a": 1}), (5, {"b": 2})]
    path.write_text('{"a": 1}\n{"b": 2}\n')
    assert list(json_values(Source(path))) == [(1, {"a": 1}), (2, {"b": 2})]


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ('[{"a": 1}\n{"b": 2}]', 2, "expected , or ]"),
        ('[{"a": 1},\n', 2, "Expecting value"),
        ('[{"a": 1}\n', 2, "the end of the file"),
        ('[{"a": 1}]\nx', 2, "after the end"),
        ('[{"a": 1},\n{"b": tru}, {"c": "' + "d" * 100 + '"}]', 2, "Expecting value"),
        ('[{"a": "b]', 1, "Unterminated string"),
    ],
)
def test_broken_arrays(content: str, line: int, what: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(content)
    with pytest.raises(InputError, match=f"line {line}: is not valid JSON .*{what}"):
        list(json_values(Source(path)))


def test_memory_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x"
    record = {"str_words": ["word"] * 50, "tags": [0] * 50}
    with path.open("w") as file:
        file.write("[")
        file.writelines(f"{json.dumps(record)},\n" for _ in range(10_000))
        file.write(json.dumps(record) + "]")
    tracemalloc.start()
    count = sum(1 for _ in json_values(Source(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 10_001
    assert path.stat().st_size > 5_000_000
    assert peak < 1_500_000
