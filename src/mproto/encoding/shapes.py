"""Word shapes: how a word is written (capitals, digits, punctuation).

In many texts only a capital letter marks a name. An uncased tokenizer maps `Apple` and `apple` to
the same sub-words, so an encoder with such a tokenizer gets the shape of every word as an
additional input.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mproto.encoding.tokens import Tokens

PROBES = ["Paris", "WHO", "McDonald", "Tablet"]


class Shape(IntEnum):
    """Word shapes. `NONE` marks positions without a word: special tokens and padding."""

    NONE = 0
    LOWER = 1
    CAPITALISED = 2
    CAPITAL = 3
    CAPITALS = 4
    MIXED = 5
    DIGITS = 6
    SIGNS = 7


def shape_of(word: str) -> Shape:
    """Return the shape of a word.

    Examples, in the order of `Shape`: `aspirin`, `Aspirin`, `A` or `B12`, `NSAID`, `eGFR`, `2.5`,
    `(`.
    """
    letters = [character for character in word if character.isalpha()]
    if not letters:
        return Shape.DIGITS if any(character.isdigit() for character in word) else Shape.SIGNS
    upper = [character.isupper() for character in letters]
    if not any(upper):
        return Shape.LOWER
    if all(upper):
        return Shape.CAPITAL if len(letters) == 1 else Shape.CAPITALS
    return Shape.CAPITALISED if upper[0] and not any(upper[1:]) else Shape.MIXED


def keeps_case(tokens: Tokens) -> bool:
    """Whether the tokenizer maps a word and its lower-case form to different sub-words."""
    pieces = tokens.pieces([*PROBES, *map(str.lower, PROBES)], max_pieces=100)
    return any(pieces[word] != pieces[word.lower()] for word in PROBES)
