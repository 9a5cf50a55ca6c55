"""Cost of training MProto, as a ratio to a plain tagger on the same data.

    python benchmarks/training_cost.py [--data bc5cdr-1.0] [--sentences 1500]
                                       [--set training.precision=bfloat16]

Measures whole runs as `mproto train` makes them: neighbours, prototypes from data, the
unlabelled-share estimate, all steps, averaging. Both systems take the same number of steps with the
same encoder. They run in turns, tagger first and last, so that other load affects both alike. Times
are processor time, summed over threads. Needs MPROTO_DATA.
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
    parser.add_argument("--sentences", type=int, help="use the first N only")
    parser.add_argument("--set", nargs="*", default=[], help="settings of both systems")
    parsed = parser.parse_args()
    corpus = list(read_documents(DATA / "datasets" / parsed.data / "train.jsonl"))[: parsed.sentences]
    spent = dict.fromkeys(TURNS, 0.0)
    for method in TURNS:
        spent[method] += seconds(method, corpus, parsed.set)
    print(f"mproto / tagger: {spent['mproto'] / spent['tagger']:.2f} (limit {LIMIT})")


if __name__ == "__main__":
    main()
