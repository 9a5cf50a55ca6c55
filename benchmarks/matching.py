"""Speed of dictionary matching compared with other libraries.

    python benchmarks/matching.py                # 1,000, 100,000 and 1,000,000 entries
    python benchmarks/matching.py --sizes 1000
    python benchmarks/matching.py --differences  # which matches differ, and why
    python benchmarks/matching.py --flat         # 1,000 terms, and more and more that never occur

All systems find the same case-insensitive terms in the CoNLL03 training sentences, repeated to 5
million words. Slow systems get fewer words; the table says how many. Each runs in its own process.
Only matching is timed, on the input that each system takes: words for mproto, spaCy (its documents
are made before the clock starts) and the naive lookup, and text for the others. Needs MPROTO_DATA,
spacy, flashtext2 and ahocorasick_rs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

DATA = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data"))
SYSTEMS = ("mproto", "mproto-trie", "spacy", "flashtext2", "ahocorasick_rs", "naive")
WORDS = 5_000_000
SECONDS = 30
"""A system stops repeating the corpus after this time."""


def sentences() -> list[list[str]]:
    with (DATA / "datasets" / "conll03-1.0" / "train.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line)["tokens"] for line in file]


def terms(size: int) -> list[str]:
    """Return real dictionary terms, then made-up names; half of their words are in the corpus."""
    real = [line.strip() for path in sorted((DATA / "dictionaries" / "conll03").glob("*.txt")) for line in path.open()]
    generator = random.Random(0)
    vocabulary = sorted({w for s in sentences() for w in s if w.isalpha() and len(w) > 3})
    letters = "abcdefghijklmnopqrstuvwxyz"

    def word() -> str:
        if generator.random() < 0.5:
            return generator.choice(vocabulary)
        return "".join(generator.choices(letters, k=generator.randint(4, 10))).capitalize()

    made = {" ".join(word() for _ in range(generator.choice((1, 2, 2, 3)))): None for _ in range(size)}
    unique = dict.fromkeys(term for term in [*real, *made] if len(term) > 3)
    return list(unique)[:size]


def run(system: str, size: int) -> dict[str, float]:
    found, corpus = terms(size), sentences()
    words_in_corpus = sum(map(len, corpus))
    inputs: list[object]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    if system.startswith("mproto"):
        if system == "mproto-trie":
            sys.modules["daachorse"] = None  # type: ignore[assignment]
        from mproto import Document, Entry, Gazetteer
        from mproto.gazetteer import Matcher, MatchOptions

        matcher = Matcher(Gazetteer(tuple(Entry(t, "X") for t in found)), MatchOptions(case="insensitive"))
        inputs, match = [Document.from_words(w) for w in corpus], lambda document: len(matcher.word_spans(document))
    elif system == "spacy":
        import spacy
        from spacy.matcher import PhraseMatcher
        from spacy.tokens import Doc
        from spacy.util import filter_spans

        nlp = spacy.blank("en")
        phrases = PhraseMatcher(nlp.vocab, attr="LOWER")
        phrases.add("X", [Doc(nlp.vocab, words=t.split()) for t in found])
        built = time.perf_counter() - start
        inputs = [Doc(nlp.vocab, words=words) for words in corpus]
        start = time.perf_counter() - built
        match = lambda doc: len(filter_spans(phrases(doc, as_spans=True)))  # noqa: E731
    elif system == "flashtext2":
        from flashtext2 import KeywordProcessor

        processor = KeywordProcessor(case_sensitive=False)
        processor.add_keywords_from_iter(found)
        inputs, match = [" ".join(w) for w in corpus], lambda text: len(processor.extract_keywords(text))
    elif system == "ahocorasick_rs":
        from ahocorasick_rs import AhoCorasick, MatchKind

        automaton = AhoCorasick([t.lower() for t in found], matchkind=MatchKind.LeftmostLongest)

        def at_boundaries(text: str) -> int:
            hits = automaton.find_matches_as_indexes(text.lower())
            padded = f" {text} "
            return sum(padded[first] == " " and padded[last + 1] == " " for _, first, last in hits)

        inputs, match = [" ".join(w) for w in corpus], at_boundaries
    else:
        known = {t.lower() for t in found}
        inputs, match = list(corpus), lambda words: len(naive(words, known))
    build = time.perf_counter() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / size
    start, done, matches = time.perf_counter(), 0, 0
    while done < WORDS and (not done or time.perf_counter() - start < SECONDS):
        matches = sum(match(item) for item in inputs)
        done += words_in_corpus
    speed = done / (time.perf_counter() - start)
    return {"build": build, "memory": memory, "speed": speed, "matches": matches, "words": done}


def reload(size: int) -> tuple[float, float]:
    """Measure the seconds to build and cache an automaton, and to load it in a new process."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[3]); from pathlib import Path; from matching import terms\n"
        "from mproto import Entry, Gazetteer; from mproto.gazetteer import Matcher\n"
        "gazetteer = Gazetteer(tuple(Entry(t, 'X') for t in terms(int(sys.argv[1]))))\n"
        "start = time.perf_counter(); Matcher(gazetteer, cache_folder=Path(sys.argv[2])); print(time.perf_counter() - start)"
    )
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code, str(size), folder, str(Path(__file__).parent)]
        first, second = (float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(2))
    return first, second


def end_to_end() -> float:
    """Measure words per second of `mproto annotate` on JSON Lines, including its start."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.jsonl"
        lines = [json.dumps({"tokens": words, "entities": []}) + "\n" for words in sentences()]
        repeats = 10
        with path.open("w") as file:
            for _ in range(repeats):
                file.writelines(lines)
        command = [sys.executable, "-m", "mproto", "annotate", str(path), "--output", f"{folder}/out.jsonl", "--json"]
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "--gazetteer", str(DATA / "dictionaries" / "conll03")], check=True, capture_output=True
        )
        taken = time.perf_counter() - start
    return float(json.loads(done.stdout)["words"]) / taken


def flat(size: int) -> float:
    """Measure words per second with many terms; only the first thousand occur."""
    from mproto import Document, Entry, Gazetteer
    from mproto.gazetteer import Matcher, MatchOptions

    generator = random.Random(1)
    letters = "bcdfghjklmnpqrstvwxz"  # no vowel: no word of the corpus
    found = terms(1000)
    while len(found) < size:
        words = (
            "".join(generator.choices(letters, k=generator.randint(5, 9))) for _ in range(generator.choice((1, 2, 3)))
        )
        found.append(" ".join(words))
    matcher = Matcher(Gazetteer(tuple(Entry(t, "X") for t in found)), MatchOptions(case="insensitive"))
    inputs = [Document.from_words(words) for words in sentences()]
    count = sum(document.word_count for document in inputs)
    best = 0.0
    for _ in range(10):
        start = time.perf_counter()
        for document in inputs:
            matcher.word_spans(document)
        best = max(best, count / (time.perf_counter() - start))
    return best


def differences(size: int = 100_000) -> None:
    """Count the matches that differ from the naive lookup's, by kind and system."""
    from ahocorasick_rs import AhoCorasick, MatchKind
    from flashtext2 import KeywordProcessor

    from mproto import Document, Entry, Gazetteer
    from mproto.gazetteer import Matcher, MatchOptions

    found = terms(size)
    known = {term.lower() for term in found}
    matcher = Matcher(Gazetteer(tuple(Entry(t, "X") for t in found)), MatchOptions(case="insensitive"))
    processor = KeywordProcessor(case_sensitive=False)
    processor.add_keywords_from_iter(found)
    automaton = AhoCorasick([t.lower() for t in found], matchkind=MatchKind.LeftmostLongest)
    kinds: dict[str, Counter[str]] = {"mproto": Counter(), "flashtext2": Counter(), "ahocorasick_rs": Counter()}
    for words in sentences():
        document = Document.from_words(words)
        text, (starts, ends) = document.text, document.edges
        right = {(starts[first], ends[last - 1]) for first, last in naive(words, known)}
        hits = {(first, last) for _, first, last in automaton.find_matches_as_indexes(text.lower())}
        whole = {(first, last) for first, last in hits if first in starts and last in ends}
        given = {
            "mproto": {(starts[first], ends[last - 1]) for first, last, _ in matcher.word_spans(document)},
            "flashtext2": {(first, last) for _, first, last in processor.extract_keywords_with_span(text)},
            "ahocorasick_rs": whole,
        }
        for system, spans in given.items():
            for first, last in spans - right:
                inside = first not in starts or last not in ends
                kinds[system]["found, begins or ends inside a word" if inside else "found, other whole words"] += 1
            for first, last in right - spans:
                taken = hits - whole if system == "ahocorasick_rs" else spans
                hidden = any(one < last and first < other for one, other in taken)
                inside = system == "ahocorasick_rs" or any(
                    one < last and first < other and (one not in starts or other not in ends) for one, other in taken
                )
                reason = "behind one that begins or ends inside a word" if hidden and inside else "otherwise"
                kinds[system][f"missed, {reason}"] += 1
    for system, counts in kinds.items():
        print(system, dict(counts))


def naive(words: list[str], known: set[str]) -> list[tuple[int, int]]:
    lower, hits, i = [w.lower() for w in words], [], 0
    while i < len(lower):
        for k in range(min(10, len(lower) - i), 0, -1):
            if " ".join(lower[i : i + k]) in known:
                hits.append((i, i + k))
                i += k - 1
                break
        i += 1
    return hits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--one", nargs=2, metavar=("SYSTEM", "SIZE"), help=argparse.SUPPRESS)
    parser.add_argument("--differences", action="store_true")
    parser.add_argument("--flat", nargs="?", type=int, const=0, metavar="SIZE", help="measure this size only")
    parsed = parser.parse_args()
    if parsed.flat:
        print(flat(parsed.flat))
        return
    if parsed.flat == 0:
        for size in parsed.sizes:
            command = [sys.executable, __file__, "--flat", str(size)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            print(f"{size:12,} entries, 1,000 occur: {float(done.stdout):12,.0f} words/s", flush=True)
        return
    if parsed.differences:
        differences()
        return
    if parsed.one:
        print(json.dumps(run(parsed.one[0], int(parsed.one[1]))))
        return
    print(f"end to end (mproto annotate, JSON Lines to JSON Lines): {end_to_end():,.0f} words/s", flush=True)
    for size in parsed.sizes:
        print(f"\n{size:,} entries")
        print(f"{'':16}{'words/s':>14}{'ratio':>8}{'build s':>10}{'bytes/entry':>13}{'matches':>10}{'words':>12}")
        ours = 0.0
        for system in parsed.systems:
            command = [sys.executable, __file__, "--one", system, str(size)]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                print(f"{system:16}failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            r = json.loads(done.stdout)
            ours = ours or r["speed"]
            print(
                f"{system:16}{r['speed']:14,.0f}{r['speed'] / ours:8.2f}{r['build']:10.2f}"
                f"{r['memory']:13,.0f}{r['matches']:10,}{r['words']:12,}",
                flush=True,
            )
        if "mproto" in parsed.systems:
            built, loaded = reload(size)
            print(f"mproto: built and cached in {built:.2f} s, loaded again in {loaded:.3f} s", flush=True)


if __name__ == "__main__":
    main()
