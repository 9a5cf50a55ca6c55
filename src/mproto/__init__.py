"""mproto turns a term list and unlabelled text into a named-entity recogniser.

Public names are imported on first use, so `import mproto` is fast and loads no deep-learning
library.
"""

from __future__ import annotations

from mproto.version import __version__

TYPE_CHECKING = False  # not from typing, whose import is slow and delays the handling of Ctrl-C
if TYPE_CHECKING:
    from mproto.config import Config, load_config
    from mproto.errors import InputError, MprotoError, Notes
    from mproto.gazetteer import Entry, Gazetteer, MatchOptions, annotate
    from mproto.io.sources import Source
    from mproto.recognizer import Entity, Recognizer
    from mproto.text import Counts, Document, Options, Scores, Span, read_documents, score, write_documents
    from mproto.training import TrainingResult, train
    from mproto.training.interrupt import Interrupted
    from mproto.training.loop import Progress
    from mproto.workflows.convert import Converted, convert

_MODULES = {
    "Config": "mproto.config",
    "Converted": "mproto.workflows.convert",
    "Counts": "mproto.text",
    "Document": "mproto.text",
    "Entity": "mproto.recognizer",
    "Entry": "mproto.gazetteer",
    "Gazetteer": "mproto.gazetteer",
    "InputError": "mproto.errors",
    "Interrupted": "mproto.training.interrupt",
    "MatchOptions": "mproto.gazetteer",
    "MprotoError": "mproto.errors",
    "Notes": "mproto.errors",
    "Options": "mproto.text",
    "Progress": "mproto.training.loop",
    "Recognizer": "mproto.recognizer",
    "Scores": "mproto.text",
    "Source": "mproto.io.sources",
    "Span": "mproto.text",
    "TrainingResult": "mproto.training",
    "annotate": "mproto.gazetteer",
    "convert": "mproto.workflows.convert",
    "load_config": "mproto.config",
    "read_documents": "mproto.text",
    "score": "mproto.text",
    "train": "mproto.training",
    "write_documents": "mproto.text",
}

__all__ = [
    "Config",
    "Converted",
    "Counts",
    "Document",
    "Entity",
    "Entry",
    "Gazetteer",
    "InputError",
    "Interrupted",
    "MatchOptions",
    "MprotoError",
    "Notes",
    "Options",
    "Progress",
    "Recognizer",
    "Scores",
    "Source",
    "Span",
    "TrainingResult",
    "__version__",
    "annotate",
    "convert",
    "load_config",
    "read_documents",
    "score",
    "train",
    "write_documents",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'mproto' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
