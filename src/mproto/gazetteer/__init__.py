"""Terms, and the labels that they give a text."""

from mproto.gazetteer.annotate import annotate
from mproto.gazetteer.entries import Gazetteer
from mproto.gazetteer.readers import Entry

__all__ = ["Entry", "Gazetteer", "annotate"]
