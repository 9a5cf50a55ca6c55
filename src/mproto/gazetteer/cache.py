"""A cache of automata of large gazetteers, which take seconds to build.

The name of an entry is a hash of the gazetteer, the options and the version. So no entry is ever
out of date.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.gazetteer.automaton import DoubleArray
from mproto.gazetteer.vocabulary import Vocabulary
from mproto.io.atomic import Staged

if TYPE_CHECKING:
    from mproto.gazetteer.entries import Gazetteer
    from mproto.gazetteer.matcher import Compiled
    from mproto.gazetteer.options import MatchOptions

VERSION = 2
ARRAYS = {"entries": "I", "ends": "I", "labels": "i", "word-ends": "I", "word-numbers": "I"}
"""The arrays of patterns and vocabulary, with their type codes."""
WORTH_IT = 20_000
"""The minimum number of terms. Smaller automata are built as fast as they are loaded."""


def default_folder() -> Path:
    """Return `$XDG_CACHE_HOME/mproto/matchers`.

    Without the variable, `~/.cache/mproto/matchers`.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mproto" / "matchers"


def _path(folder: Path, gazetteer: Gazetteer, options: MatchOptions) -> Path:
    key = f"{VERSION} {gazetteer.fingerprint} {replace(options, names=None).key}"  # names do not change the automaton
    return folder / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def load(folder: Path, gazetteer: Gazetteer, options: MatchOptions) -> Compiled | None:
    """Load a saved automaton; return `None` if it is missing, damaged or unreadable."""
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
    """Save an automaton. If it cannot be written, it is built again the next time."""
    automaton, patterns, vocabulary = compiled
    if len(gazetteer) < WORTH_IT or not isinstance(automaton, DoubleArray):
        return
    path = _path(folder, gazetteer, options)
    arrays = (patterns.entries, patterns.ends, patterns.labels, vocabulary.ends, vocabulary.numbers)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Staged(path, is_folder=True) as new:
            (new.path / "automaton").write_bytes(automaton.to_bytes())
            for name, values in zip(ARRAYS, arrays, strict=True):
                (new.path / name).write_bytes(values.tobytes())
            (new.path / "letters").write_bytes(vocabulary.letters.encode("utf-8", "surrogatepass"))
            lengths = [*map(len, arrays), len(vocabulary.letters)]
            (new.path / "meta.json").write_text(json.dumps({"lengths": lengths, "longest": patterns.longest}))
            new.rename(path)
    except OSError:
        return
