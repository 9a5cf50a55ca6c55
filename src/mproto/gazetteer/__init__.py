"""Gazetteers (lists of terms with types) and distant labels from them."""

from mproto.gazetteer.annotate import annotate
from mproto.gazetteer.entries import Entry, Gazetteer
from mproto.gazetteer.matcher import Match, Matcher
from mproto.gazetteer.options import MatchOptions
from mproto.gazetteer.writers import write_gazetteer

__all__ = ["Entry", "Gazetteer", "Match", "MatchOptions", "Matcher", "annotate", "write_gazetteer"]
