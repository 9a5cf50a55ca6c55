"""Documents (text, words, labelled spans): tagging, scoring, reading and writing."""

from mproto.text.document import Document, Span, WordSpan
from mproto.text.formats import Options, detect, formats, read_documents, write_documents
from mproto.text.scoring import Counts, Scorer, Scores, score
from mproto.text.words import Word, split_words

__all__ = [
    "Counts",
    "Document",
    "Options",
    "Scorer",
    "Scores",
    "Span",
    "Word",
    "WordSpan",
    "detect",
    "formats",
    "read_documents",
    "score",
    "split_words",
    "write_documents",
]
