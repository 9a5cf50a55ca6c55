"""How good the dictionaries' labels are: span-level precision, recall and F1 of every training set.

    python -m experiments.annotation_quality

Labels are made anew from the dictionaries (the knowledge base's are those released, since how they were made was never
published) and compared with the human labels of train, which nothing but this comparison looks at. Needs MPROTO_DATA.
"""

from __future__ import annotations

from experiments.cells import DICTIONARIES, documents, load, once, require_data
from experiments.page import write_section
from mproto import Gazetteer, annotate, score

ABOUT, MINUTES = "annotation quality: eleven training sets", 0.2
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
NOTE = """*The paper:* labels are precise and incomplete, the more so the smaller the dictionary. *Here:* the same figures,
to the last digit, from our own matching (those of the knowledge base from the released labels)."""


def cells() -> list[str]:
    return ["annotation_quality"]


def measure() -> dict[str, list[float]]:
    found = {}
    for data in PUBLISHED:
        train = documents(data, "train")
        corpus, _, fraction = data.partition("-")
        gold = [document.with_spans(document.gold or (), None) for document in train]
        labelled = train
        if fraction != "kb":
            gazetteer = Gazetteer.load(DICTIONARIES / corpus).head(float(fraction))
            labelled = list(annotate([document.bare() for document in train], gazetteer, matching="paper"))
        scores = score(zip(gold, labelled, strict=True)).overall
        found[data] = [round(100 * value, 2) for value in (scores.precision, scores.recall, scores.f1)]
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
    require_data()
    for data, values in once("annotation_quality", measure).items():
        print(data, *values, "" if tuple(values) == PUBLISHED[data] else f"and not {PUBLISHED[data]}")
    write_section("Annotation quality", render())


if __name__ == "__main__":
    main()
