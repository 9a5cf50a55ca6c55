"""Write gazetteers as text files (one per type), a CSV table, or spaCy's patterns."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.io.outputs import Outputs

if TYPE_CHECKING:
    from mproto.gazetteer.entries import Gazetteer

CASE = {None: "", True: "yes", False: "no"}


def write_gazetteer(gazetteer: Gazetteer, path: Path | str, *, force: bool = False) -> None:
    """Write a gazetteer in the format of the file name ending.

    `.csv` is a table with the terms, types, ids and case sensitivity. `.jsonl` is spaCy's patterns.
    A path without an ending is a folder of text files, one per type, which contain only the terms.
    `Gazetteer.load` reads all three.

    Raises:
        InputError: the ending is unknown, the output exists, or a type cannot be a file name.
    """
    path = Path(path)
    with Outputs(force=force) as outputs:
        if path.suffix == ".csv":
            outputs.open(path).write(_csv(gazetteer).encode())
        elif path.suffix == ".jsonl":
            outputs.open(path).write(_patterns(gazetteer).encode())
        elif not path.suffix:
            _write_texts(gazetteer, path, outputs)
        else:
            raise InputError(
                "a gazetteer is written as .csv, .jsonl or a folder",
                path=path,
                hint="use one of these endings, or none",
            )


def _csv(gazetteer: Gazetteer) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("term", "label", "id", "case_sensitive"))
    writer.writerows((e.surface, e.type, e.id, CASE[e.case_sensitive]) for e in gazetteer)
    return out.getvalue()


def _patterns(gazetteer: Gazetteer) -> str:
    lines = []
    for entry in gazetteer:
        key = {None: None, True: "TEXT", False: "LOWER"}[entry.case_sensitive]
        words = entry.surface.split()
        pattern = entry.surface if key is None else [{key: w if key == "TEXT" else w.lower()} for w in words]
        record = {"label": entry.type, "pattern": pattern} | ({"id": entry.id} if entry.id else {})
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)


def _write_texts(gazetteer: Gazetteer, path: Path, outputs: Outputs) -> None:
    folder = outputs.folder(path, (".txt",))
    for type_ in gazetteer.types:
        if not type_ or set(type_) & set('/\\:*?"<>|\0') or type_.startswith("."):
            raise InputError(f"the type {type_!r} cannot be a file name", path=path, hint="write a .csv instead")
        surfaces = [entry.surface for entry in gazetteer if entry.type == type_]
        folder.write(f"{type_}.txt", "".join(f"{surface}\n" for surface in surfaces).encode())
