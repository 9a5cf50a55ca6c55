"""The data sets published with the paper: the readers agree with plain JSON counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mproto.text import read_documents

FOLDERS = [f"{name}-{part}" for name in ("bc5cdr", "conll03") for part in ("0.2", "0.4", "0.6", "0.8", "1.0", "fully")]


@pytest.mark.data
@pytest.mark.parametrize("folder", [*FOLDERS, "conll03-kb"])
def test_counts(folder: str, data_folder: Path) -> None:
    for path in sorted((data_folder / "datasets" / folder).glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        documents = list(read_documents(path))
        assert len(documents) == len(records)
        assert [list(d.word_texts) for d in documents] == [r["tokens"] for r in records]
        for document, record in zip(documents, records, strict=True):
            assert {tuple(s) for s in document.word_spans} == {
                (e["start"], e["end"], e["type"]) for e in record["entities"]
            }
            human = record.get("human_entities")
            assert (document.gold is None) == (human is None)
            if human is not None:
                found = {tuple(s) for s in document.gold_word_spans or ()}
                assert found == {(e["start"], e["end"], e["type"]) for e in human}
        assert sum(len(d.spans) for d in documents) == sum(len(r["entities"]) for r in records)
