"""What training MProto costs, as a ratio to a plain tagger on the same data.

    python benchmarks/training_cost.py [--data bc5cdr-1.0] [--sentences 1500] [--set training.precision=bfloat16]

Whole runs, as `mproto train` makes them: reading the words that mean alike, prototypes from data, the estimate of what is
unlabelled, every step, averaging. Both take as many steps with the same encoder; they take turns, tagger first and last, so
that the machine treats them alike. Time of the processor, all threads together. Needs MPROTO_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mproto import read_documents, train
from mproto.config import load_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto import Document

DATA = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data"))
TURNS = ("tagger", "mproto", "mproto", "tagger")
LIMIT = 1.6


def seconds(method: str, corpus: list[Document], settings: Sequence[str]) -> float:
    steps = 0

    def count(_: object) -> None:
        nonlocal steps
        steps += 1

    config = load_config(settings=settings, method=method)
    start = time.process_time()
    train(corpus, config=config, on_step=count)
    spent = time.process_time() - start
    print(f"{method:8s} {spent:7.1f} s for {steps} steps", flush=True)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="bc5cdr-1.0")
    parser.add_argument("--sentences", type=int, help="the first ones only; all by default")
    parser.add_argument("--set", nargs="*", default=[], help="settings for both")
    parsed = parser.parse_args()
    corpus = list(read_documents(DATA / "datasets" / parsed.data / "train.jsonl"))[: parsed.sentences]
    spent = dict.fromkeys(TURNS, 0.0)
    for method in TURNS:
        spent[method] += seconds(method, corpus, parsed.set)
    print(f"mproto / tagger: {spent['mproto'] / spent['tagger']:.2f} (limit {LIMIT})")


if __name__ == "__main__":
    main()
