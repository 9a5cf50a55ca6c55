"""Tags of a whole file: decoded sentence by sentence, repairs counted for the file."""

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
    """Decodes sentences and remembers what was odd about them.

    Which oddities are repairs depends on the scheme, and that is known only when all have been seen (an `I` after `O` is
    right in IOB1 and wrong in BIO). The spans do not depend on it.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.oddities = Oddities()

    def spans(self, tags: Sequence[str], lines: Sequence[int] = ()) -> tuple[WordSpan, ...]:
        """The spans of a sentence; where its tags stand on lines of their own, these are named in errors."""
        try:
            decoded = decode(tags, bare=self.options.bare_tags)
        except TagError as error:
            line = lines[tags.index(error.tag)] if lines else None
            raise InputError(str(error), line=line, hint=TAG_HINT) from None
        if decoded.spans:  # most sentences have none, and so nothing odd
            self.oddities += decoded.oddities
        return decoded.spans

    def report(self, notes: Notes) -> None:
        """Count the repairs of the file that has just been read."""
        scheme = self.options.scheme or self.oddities.scheme()
        repairs = self.oddities.repairs(scheme)
        notes.count(f"spans with tags that {scheme.upper()} does not allow were repaired", repairs)
