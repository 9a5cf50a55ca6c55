"""How words are written: capitals, digits, signs. Tokenizers that throw letter case away hide it from an encoder.

In many texts a name is told by its capital letter alone. So where the tokenizer makes one of `Apple` and `apple`, the encoder
gets the shape of every word beside its sub-words.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mproto.encoding.tokens import Tokens

PROBES = ["Paris", "WHO", "McDonald", "Tablet"]


class Shape(IntEnum):
    """Shapes of words; `NONE` is for what is no word, such as filling."""

    NONE = 0
    LOWER = 1
    CAPITALISED = 2
    CAPITAL = 3
    CAPITALS = 4
    MIXED = 5
    DIGITS = 6
    SIGNS = 7


def shape_of(word: str) -> Shape:
    """`aspirin`, `Aspirin`, `A`, `NSAID`, `eGFR` or `B12`, `2.5`, `(`."""
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
    """Whether words in capitals and in small letters have different sub-words."""
    pieces = tokens.pieces([*PROBES, *map(str.lower, PROBES)], most=100)
    return any(pieces[word] != pieces[word.lower()] for word in PROBES)
