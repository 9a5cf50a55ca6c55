"""Time of a report about 100,000 words, in total and by part. The limit is a minute.

    python benchmarks/report.py [--words 100000]

The model is trained for a few steps on the bundled corpus. Its sentences are repeated until there
are enough words.
"""

from __future__ import annotations

import argparse
import time
from itertools import cycle, takewhile

from mproto import annotate, demo, train
from mproto.analysis.projection import choose_words, project
from mproto.analysis.report import MOST_POINTS, report
from mproto.analysis.word_table import read_words
from mproto.config import load_config
from mproto.html.report_page import report_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=100_000)
    wanted = parser.parse_args().words
    labelled = list(annotate(demo.documents("train"), demo.gazetteer()))
    recognizer = train(labelled, config=load_config(settings=["training.epochs=0", "training.min_steps=10"])).recognizer
    total = 0

    def enough(document: object) -> bool:
        nonlocal total
        total += document.word_count  # type: ignore[attr-defined]
        return total <= wanted

    documents = list(takewhile(enough, cycle(labelled)))
    start = time.perf_counter()
    words = read_words(recognizer, documents)
    read = time.perf_counter()
    project(words.features[choose_words(words, MOST_POINTS)])
    mapped = time.perf_counter()
    page = report_page(report(recognizer, [], documents, most_words=wanted))
    whole = time.perf_counter() - mapped
    print(f"{len(words):,} words: {whole:.1f} s in total ({whole / 60:.2f} of the limit), {len(page) / 1e6:.2f} MB")
    print(f"reading {read - start:.1f} s, map {mapped - read:.1f} s")


if __name__ == "__main__":
    main()
