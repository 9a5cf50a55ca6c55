"""Automata of large gazetteers on disk: building one of a million terms takes seconds, loading it does not.

An entry is a folder named after the content of the gazetteer, the options and the version, so nothing is ever stale.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from array import array
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.gazetteer.automaton import DoubleArray
from mproto.gazetteer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from mproto.gazetteer.entries import Gazetteer
    from mproto.gazetteer.matcher import Compiled
    from mproto.gazetteer.options import MatchOptions

VERSION = 2
ARRAYS = {"entries": "I", "ends": "I", "labels": "i", "word-ends": "I", "word-numbers": "I"}
"""The arrays of patterns and vocabulary, and what they hold."""
WORTH_IT = 20_000
"""Smaller gazetteers are built faster than they are found on disk."""


def default_folder() -> Path:
    """`$XDG_CACHE_HOME/mproto/matchers`, or where caches are kept without it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mproto" / "matchers"


def _path(folder: Path, gazetteer: Gazetteer, options: MatchOptions) -> Path:
    key = f"{VERSION} {gazetteer.fingerprint} {replace(options, names=None).key}"  # names are no part of it
    return folder / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def load(folder: Path, gazetteer: Gazetteer, options: MatchOptions) -> Compiled | None:
    """What `save` kept, or nothing where it is not there, damaged or unreadable."""
    from mproto.gazetteer.matcher import Compiled, Patterns

    if len(gazetteer) < WORTH_IT:
        return None
    path = _path(folder, gazetteer, options)
    try:
        meta = json.loads((path / "meta.json").read_bytes())
        entries, ends, labels, word_ends, word_numbers = arrays = [array(code) for code in ARRAYS.values()]
        for name, values in zip(ARRAYS, arrays, strict=True):
            values.frombytes((path / name).read_bytes())
        letters = (path / "letters").read_bytes().decode("utf-8", "surrogatepass")
        if [*map(len, arrays), len(letters)] != meta["lengths"]:
            return None
        automaton = DoubleArray.from_bytes((path / "automaton").read_bytes())
        patterns = Patterns(entries, ends, labels, meta["longest"])
        return Compiled(automaton, patterns, Vocabulary(letters, word_ends, word_numbers))
    except (OSError, ValueError, KeyError, TypeError, ImportError):
        return None


def save(folder: Path, gazetteer: Gazetteer, options: MatchOptions, compiled: Compiled) -> None:
    """Keep an automaton; a disk that is full or read-only only costs the time next time."""
    automaton, patterns, vocabulary = compiled
    if len(gazetteer) < WORTH_IT or not isinstance(automaton, DoubleArray):
        return
    path = _path(folder, gazetteer, options)
    arrays = (patterns.entries, patterns.ends, patterns.labels, vocabulary.ends, vocabulary.numbers)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            (new / "automaton").write_bytes(automaton.to_bytes())
            for name, values in zip(ARRAYS, arrays, strict=True):
                (new / name).write_bytes(values.tobytes())
            (new / "letters").write_bytes(vocabulary.letters.encode("utf-8", "surrogatepass"))
            lengths = [*map(len, arrays), len(vocabulary.letters)]
            (new / "meta.json").write_text(json.dumps({"lengths": lengths, "longest": patterns.longest}))
            shutil.rmtree(path, ignore_errors=True)
            new.rename(path)
    except OSError:
        return
