"""mproto turns a dictionary and unlabelled text into a named-entity recogniser.

Names are imported on first use, so that `import mproto` is instant and never brings in a deep-learning library.
"""

from __future__ import annotations

from mproto.version import __version__

TYPE_CHECKING = False  # importing it from typing would take most of the time until Ctrl-C can be dealt with
if TYPE_CHECKING:
    from mproto.gazetteer import Entry, Gazetteer, annotate
    from mproto.recognizer import Recognizer
    from mproto.text import Document, Span, read_documents, score, write_documents
    from mproto.training import train
    from mproto.workflows.convert import convert

_HOMES = {
    "Document": "mproto.text",
    "Entry": "mproto.gazetteer",
    "Gazetteer": "mproto.gazetteer",
    "Recognizer": "mproto.recognizer",
    "Span": "mproto.text",
    "annotate": "mproto.gazetteer",
    "convert": "mproto.workflows.convert",
    "read_documents": "mproto.text",
    "score": "mproto.text",
    "train": "mproto.training",
    "write_documents": "mproto.text",
}

__all__ = [
    "Document",
    "Entry",
    "Gazetteer",
    "Recognizer",
    "Span",
    "__version__",
    "annotate",
    "convert",
    "read_documents",
    "score",
    "train",
    "write_documents",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mproto' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
