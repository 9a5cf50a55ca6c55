"""Spans of words <-> one tag a word.

Written: `IO` (the paper's; touching spans of one label merge) and `BIO`. Read: `IO`, `BIO` (IOB2), `IOB1`, and `BIOES`
with its twin `BILOU`. All of them are read by one rule, which is also the rule of repair:

- `B`, `S` and `U` start a span; so does any tag whose label differs from the span before it or that has none before it.
- `I`, `E` and `L` continue an open span of the same label; `E` and `L` then close it, `S` and `U` close their own.
- Everything else (`O`, a new start, the end of the sentence) closes an open span where it stands.

So a wrong sequence still gives the spans that its author most likely meant. What the scheme forbids is counted.
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
    """A tag that no scheme knows."""

    def __init__(self, tag: str) -> None:
        super().__init__(f"unknown tag {tag!r}")
        self.tag = tag


class Decoded(NamedTuple):
    """Spans read from tags, and how often each kind of oddity was met on the way."""

    spans: tuple[WordSpan, ...]
    oddities: Oddities


class Oddities(NamedTuple):
    """Counts of what one scheme or another forbids.

    Attributes:
        bare_starts: spans that start with `I`: right in IO and IOB1, wrong in BIO.
        full_starts: `B` after `O` or another label: right in BIO, wrong in IOB1 and IO.
        needless_starts: `B` right behind a span of its own label: right in BIO and IOB1.
        open_ends: spans that neither `E`/`L` nor `S`/`U` closes: right in all but BIOES.
        closed: spans closed by `E`, `L`, `S` or `U`: right in BIOES only.
        stray_ends: `E`/`L` with no open span, right nowhere.
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
        """The scheme that all this was most likely written in."""
        if self.closed > self.open_ends:
            return "bioes"
        if self.full_starts:
            return "bio"
        return "iob1" if self.needless_starts else "io"

    def repairs(self, scheme: Scheme | None = None) -> int:
        """How many spans had to be repaired, given the scheme (or the one that the tags suggest)."""
        scheme = scheme or self.scheme()
        if scheme == "io":
            return self.full_starts + self.needless_starts + self.closed + self.stray_ends
        if scheme == "iob1":
            return self.full_starts + self.closed + self.stray_ends
        if scheme == "bio":
            return self.bare_starts + self.closed + self.stray_ends
        return self.bare_starts + self.open_ends + self.stray_ends


def parse_tag(tag: str, *, bare: bool = False) -> tuple[str, str]:
    """`B-PER` as `("B", "PER")`, `O` as `("O", "")`; with `bare`, a tag is a label (`PER` as `("I", "PER")`)."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if bare:
        return "I", tag
    if len(tag) > 2 and tag[1] in "-_" and tag[0] in _PREFIXES:
        return tag[0], tag[2:]
    raise TagError(tag)


def decode(tags: Sequence[str], *, bare: bool = False) -> Decoded:
    """Spans of a tagged sentence, by the rule at the top of this file; `bare` as in `parse_tag`."""
    spans: list[WordSpan] = []
    bare_starts = full_starts = needless_starts = open_ends = closed = stray_ends = 0
    start, label = 0, ""  # the open span; no label: none is open
    previous = ""  # the label of the word before, whether its span is closed or not
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
    """Tags of a sentence of `length` words.

    Raises:
        ValueError: two spans share a word, which tags cannot say.
    """
    tags = [OUTSIDE] * length
    for span in spans:
        if any(tag != OUTSIDE for tag in tags[span.start : span.end]):
            raise ValueError(f"span {span.start}–{span.end} ({span.label}) overlaps another one")
        tags[span.start : span.end] = [f"I-{span.label}"] * (span.end - span.start)
        if scheme == "bio":
            tags[span.start] = f"B-{span.label}"
    return tags
