"""Decode the tags of a file sentence by sentence, and count repairs for the whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.text.tagging import Oddities, TagError, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.errors import Notes
    from mproto.text.document import WordSpan
    from mproto.text.formats.base import Options

TAG_HINT = "tags are O or PREFIX-LABEL with a prefix of B I O E S L U; pass --bare-tags if a tag is just a label"


class TagReader:
    """Decodes sentences and counts oddities.

    An `I` after `O` is valid in IOB1 but a repair in BIO. So the number of repairs is
    known only after the whole file has been read and its scheme detected. The spans do not depend
    on the scheme.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.oddities = Oddities()

    def spans(self, tags: Sequence[str], lines: Sequence[int] = ()) -> tuple[WordSpan, ...]:
        """Return the spans of a sentence. If each tag has its own line, errors name the line."""
        try:
            decoded = decode(tags, bare=self.options.bare_tags)
        except TagError as error:
            line = lines[tags.index(error.tag)] if lines else None
            raise InputError(str(error), line=line, hint=TAG_HINT) from None
        if decoded.spans:  # fast path: most sentences have no spans, and so no oddities
            self.oddities += decoded.oddities
        return decoded.spans

    def report(self, notes: Notes) -> None:
        """Count the repairs in the file, at its end."""
        scheme = self.options.scheme or self.oddities.scheme()
        repairs = self.oddities.repairs(scheme)
        notes.count(f"spans with tags that {scheme.upper()} does not allow were repaired", repairs)
