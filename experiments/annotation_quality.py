"""The quality of distant labels: span-level precision, recall and F1 of all training sets.

Labels are made anew from the dictionaries and compared with the human labels of train. The labels
of the knowledge base are those released with the data, since their matching was never published.
"""

from __future__ import annotations

from experiments.cells import Cell, documents, load, once, percent, scores
from experiments.command import run_command
from experiments.systems import gazetteer_of, with_human_labels
from mproto import annotate

ABOUT, MINUTES = "quality of the distant labels of eleven training sets", 0.2
PUBLISHED = {
    "bc5cdr-0.2": (87.31, 12.09, 21.24),
    "bc5cdr-0.4": (87.66, 29.06, 43.65),
    "bc5cdr-0.6": (88.42, 40.02, 55.10),
    "bc5cdr-0.8": (89.42, 53.85, 67.22),
    "bc5cdr-1.0": (89.45, 66.95, 76.58),
    "conll03-0.2": (81.49, 10.55, 18.67),
    "conll03-0.4": (84.87, 20.65, 33.21),
    "conll03-0.6": (87.58, 30.68, 45.44),
    "conll03-0.8": (89.02, 42.42, 57.46),
    "conll03-1.0": (91.62, 52.15, 66.47),
    "conll03-kb": (82.31, 62.17, 70.84),
}
NOTE = """*The paper:* labels are precise and incomplete, the more so the smaller the dictionary.
*Here:* our own matching gives the same figures, to the last digit. (Those of the knowledge base are
computed from the released labels.)"""


def cells() -> list[str]:
    return ["annotation_quality"]


def measure() -> Cell:
    found = {}
    for data in PUBLISHED:
        corpus = documents(data, "train")
        labelled = corpus
        if not data.endswith("kb"):
            labelled = list(annotate([document.bare() for document in corpus], gazetteer_of(data), matching="paper"))
        quality = percent({"train": scores(with_human_labels(corpus), labelled)}, "train")
        found[data] = [round(quality[key], 2) for key in ("precision", "recall", "f1")]
    return found


def render() -> str:
    found = load("annotation_quality") or {}
    rows = [
        f"| {data} | {' / '.join(f'{v:.2f}' for v in found[data])} | {' / '.join(f'{v:.2f}' for v in paper)} |"
        for data, paper in PUBLISHED.items()
        if data in found
    ]
    return "\n".join([NOTE, "", "| training set | P / R / F1 | the paper |", "|---|---|---|", *rows])


def main() -> None:
    run_command(__doc__, "Annotation quality", render, lambda: once("annotation_quality", measure))


if __name__ == "__main__":
    main()
