"""Speed of conversion and scoring, and memory for a large file.

    python benchmarks/formats.py                 # all three
    python benchmarks/formats.py pairs           # all pairs of formats, CoNLL03 training sentences
    python benchmarks/formats.py scoring         # 10,000 sentences
    python benchmarks/formats.py memory          # a JSON Lines file of 1 GB

Times are seconds of one run. For comparison, the same run measures the time of Python's json for
loading and dumping the same sentences, and the time of creating as many files as the folder formats
write. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mproto import Document, convert, read_documents, score
from mproto.errors import Notes
from mproto.io.sources import Source
from mproto.text import formats

DATA = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data"))
FILE_NAMES = {
    "roster": "train_text.txt",
    "parquet": "x.parquet",
    "arrow": "x.arrow",
    "docbin": "x.spacy",
    "text": "x.txt",
}


def seconds(work: object, *arguments: object, **keywords: object) -> float:
    start = time.perf_counter()
    work(*arguments, **keywords)  # type: ignore[operator]
    return time.perf_counter() - start


def corpus() -> Path:
    path = DATA / "datasets" / "conll03-1.0" / "train.jsonl"
    if not path.is_file():
        sys.exit(f"{path} is not there: set MPROTO_DATA")
    return path


def json_floor(path: Path) -> float:
    def load_and_dump() -> None:
        with path.open(encoding="utf-8") as file, tempfile.TemporaryFile("w") as out:
            for line in file:
                out.write(json.dumps(json.loads(line), ensure_ascii=False))

    return min(seconds(load_and_dump) for _ in range(3))


def file_floor(folder: Path, count: int) -> float:
    def create() -> None:
        (folder / "floor").mkdir()
        for i in range(count):
            (folder / "floor" / f"{i}").write_bytes(b"x" * 100)

    taken = seconds(create)
    shutil.rmtree(folder / "floor")
    return taken


def pairs() -> None:
    import spacy.tokens  # noqa: F401  (its import is not a conversion)

    source = corpus()
    names = [format.name for format in formats()]
    print(f"14,041 sentences; json alone: {json_floor(source):.2f} s")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        print(f"creating 28,082 files: {file_floor(folder, 28_082):.2f} s")
        inputs = {}
        for name in names:
            (folder / name).mkdir()
            inputs[name] = folder / name / FILE_NAMES.get(name, "x")
            convert(Source(source, Notes()), inputs[name], write_format=name)
        (folder / "out").mkdir()
        print("from \\ to".ljust(13), *(name[:7].rjust(7) for name in names))
        slowest: dict[tuple[str, str], float] = {}
        for first in names:
            row = []
            for second in names:
                output = folder / "out" / FILE_NAMES.get(second, "x")
                taken = seconds(
                    convert, Source(inputs[first], Notes()), output, read_format=first, write_format=second, force=True
                )
                slowest[first, second] = taken
                row.append(f"{taken:7.2f}")
                shutil.rmtree(folder / "out")
                (folder / "out").mkdir()
            print(first.ljust(13), *row, flush=True)
    late = [f"{a} to {b} {t:.2f}" for (a, b), t in sorted(slowest.items(), key=lambda item: -item[1]) if t >= 3]
    print(f"3 s or more: {', '.join(late) or 'none'}")


def scoring() -> None:
    documents = list(read_documents(corpus()))[:10_000]
    gold = [Document(d.text, d.gold or (), d.given_words) for d in documents]
    assert score(zip(gold, documents, strict=True)).overall.correct
    plain = min(seconds(score, zip(gold, documents, strict=True)) for _ in range(3))
    known = [d.text[:6] for d in documents]
    seen = min(seconds(score, zip(gold, documents, strict=True), terms=known) for _ in range(3))
    intervals = seconds(score, zip(gold, documents, strict=True), bootstrap=1000)
    print(f"scoring 10,000 sentences: {plain:.2f} s; seen and unseen: {seen:.2f} s; 1,000 resamples: {intervals:.2f} s")


def memory() -> None:
    line = corpus().read_bytes().splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "big.jsonl"
        with path.open("wb") as file:
            block = b"".join(line)
            while file.tell() < 1e9:
                file.write(block)
        size = path.stat().st_size / 1e9
        for name in ("jsonl", "conll"):
            command = [
                sys.executable,
                "-m",
                "mproto",
                "convert",
                str(path),
                f"{scratch}/out.{name}",
                "--json",
                "--force",
            ]
            taken = seconds(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"{size:.2f} GB JSON Lines to {name}: peak memory {peak:.0f} MB, {taken:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "which", nargs="*", choices=("pairs", "scoring", "memory"), default=["scoring", "pairs", "memory"]
    )
    for name in parser.parse_args().which:
        {"pairs": pairs, "scoring": scoring, "memory": memory}[name]()


if __name__ == "__main__":
    main()
