"""Convert between word spans and one tag per word.

Schemes for output: `IO` (the paper's; adjacent spans of one label are merged) and `BIO`. Schemes
for input: `IO`, `BIO` (IOB2), `IOB1`, and `BIOES` with its variant `BILOU`. The same rules decode
all of them and repair invalid sequences:

- `B`, `S` and `U` start a span. So does any other tag with a label if no span is open or the open
  span has another label.
- `I`, `E` and `L` continue an open span of the same label. `E` and `L` then close it. `S` and `U`
  close their own span.
- `O`, the start of another span and the end of the sentence close an open span.

An invalid sequence thus gives the spans that its author most likely meant. Violations of the scheme
are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from mproto.text.document import WordSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OUTSIDE = "O"
Scheme = Literal["io", "bio", "iob1", "bioes"]
OutputScheme = Literal["io", "bio"]
SCHEMES: tuple[Scheme, ...] = ("io", "bio", "iob1", "bioes")

_STARTS, _CONTINUES, _CLOSES = frozenset("BSU"), frozenset("IEL"), frozenset("ELSU")
_PREFIXES = _STARTS | _CONTINUES


class TagError(ValueError):
    """A tag that does not belong to any scheme."""

    def __init__(self, tag: str) -> None:
        super().__init__(f"unknown tag {tag!r}")
        self.tag = tag


class Decoded(NamedTuple):
    """The spans of a sequence of tags, and counts of tags that some schemes forbid."""

    spans: tuple[WordSpan, ...]
    oddities: Oddities


class Oddities(NamedTuple):
    """Counts of tags that at least one scheme forbids.

    Attributes:
        bare_starts: spans that start with `I`: valid in IO and IOB1, invalid in BIO and BIOES.
        full_starts: `B` after `O` or another label: valid in BIO and BIOES, invalid in IOB1 and IO.
        needless_starts: `B` directly after a span of the same label: invalid in IO only.
        open_ends: spans not closed by `E`, `L`, `S` or `U`: invalid in BIOES only.
        closed: spans closed by `E`, `L`, `S` or `U`: valid in BIOES only.
        stray_ends: `E` or `L` without an open span: invalid in all schemes.
    """

    bare_starts: int = 0
    full_starts: int = 0
    needless_starts: int = 0
    open_ends: int = 0
    closed: int = 0
    stray_ends: int = 0

    def __add__(self, other: object) -> Oddities:
        if not isinstance(other, Oddities):
            return NotImplemented
        return Oddities(*map(sum, zip(self, other, strict=True)))

    def scheme(self) -> Scheme:
        """Return the scheme that the tags are most likely in."""
        if self.closed > self.open_ends:
            return "bioes"
        if self.full_starts:
            return "bio"
        return "iob1" if self.needless_starts else "io"

    def repairs(self, scheme: Scheme | None = None) -> int:
        """Return the number of repairs under a scheme (by default the most likely one)."""
        scheme = scheme or self.scheme()
        if scheme == "io":
            return self.full_starts + self.needless_starts + self.closed + self.stray_ends
        if scheme == "iob1":
            return self.full_starts + self.closed + self.stray_ends
        if scheme == "bio":
            return self.bare_starts + self.closed + self.stray_ends
        return self.bare_starts + self.open_ends + self.stray_ends


def parse_tag(tag: str, *, bare: bool = False) -> tuple[str, str]:
    """Split a tag into prefix and label: `B-PER` into `("B", "PER")`, `O` into `("O", "")`.

    With `bare`, the tag is a label without a prefix: `PER` gives `("I", "PER")`.
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if bare:
        return "I", tag
    if len(tag) > 2 and tag[1] in "-_" and tag[0] in _PREFIXES:
        return tag[0], tag[2:]
    raise TagError(tag)


def decode(tags: Sequence[str], *, bare: bool = False) -> Decoded:
    """Decode tags by the rules at the top of this file; `bare` as in `parse_tag`."""
    spans: list[WordSpan] = []
    bare_starts = full_starts = needless_starts = open_ends = closed = stray_ends = 0
    start, label = 0, ""  # the open span; without a label, no span is open
    previous = ""  # the label of the previous word, whether its span is closed or not
    for i, tag in enumerate([*tags, OUTSIDE]):
        if tag == OUTSIDE and not label:  # most words
            previous = ""
            continue
        prefix, name = parse_tag(tag, bare=bare)
        if label and (prefix == OUTSIDE or prefix in _STARTS or name != label):
            spans.append(WordSpan(start, i, label))
            open_ends += 1
            label = ""
        if prefix != OUTSIDE and not label:
            start, label = i, name
            if prefix in _STARTS:
                if previous == name:
                    needless_starts += prefix == "B"
                else:
                    full_starts += prefix == "B"
            elif prefix in _CLOSES:
                stray_ends += 1
            else:
                bare_starts += 1
        if prefix in _CLOSES:
            spans.append(WordSpan(start, i + 1, label))
            closed += 1
            label = ""
        previous = name
    return Decoded(tuple(spans), Oddities(bare_starts, full_starts, needless_starts, open_ends, closed, stray_ends))


def encode(spans: Iterable[WordSpan], length: int, scheme: OutputScheme = "bio") -> list[str]:
    """Return the tags of a sentence of `length` words.

    Raises:
        ValueError: two spans share a word, which tags cannot represent.
    """
    tags = [OUTSIDE] * length
    for span in spans:
        if any(tag != OUTSIDE for tag in tags[span.start : span.end]):
            raise ValueError(f"span {span.start}–{span.end} ({span.label}) overlaps another span")
        tags[span.start : span.end] = [f"I-{span.label}"] * (span.end - span.start)
        if scheme == "bio":
            tags[span.start] = f"B-{span.label}"
    return tags
