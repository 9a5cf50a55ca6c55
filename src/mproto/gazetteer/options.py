"""How terms are matched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from mproto.errors import InputError

Case = Literal["smart", "sensitive", "insensitive"]
Ambiguous = Literal["drop", "first", "keep-all"]
Normalise = Literal["NFC", "NFKC", "none"]


@dataclass(frozen=True)
class MatchOptions:
    """How terms are matched. The defaults are the default policy.

    Attributes:
        case: whether letter case matters. `smart`: only for terms in capitals, terms of up to three characters, and names.
        normalise: Unicode normalisation of terms and text; `NFKC` also unites full-width and other compatibility forms.
        plurals: a term also matches with a plural ending or without its own (`-s`, `-es`, `-ies`).
        hyphens: a hyphen in a term also matches a space or nothing, and a space also a hyphen.
        min_length: shorter terms are left out.
        stop: terms to leave out, whatever their case.
        ambiguous: what a term of several types gives: no label, the label of its first entry, or all of them.
        priority: types that win over others, first the strongest; a term of several types gets the strongest of them.
        names: with `smart`, types whose terms are names: a word that begins with a capital in the term does so in the text,
            too. `None` leaves it to the texts: `annotate` and the doctor look at a thousand of them (`names.py`), and a
            recogniser knows from its training.
    """

    case: Case = "smart"
    normalise: Normalise = "NFC"
    plurals: bool = False
    hyphens: bool = False
    min_length: int = 1
    stop: frozenset[str] = frozenset()
    ambiguous: Ambiguous = "drop"
    priority: tuple[str, ...] = ()
    names: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("case", Case), ("normalise", Normalise), ("ambiguous", Ambiguous)):
            if (value := getattr(self, name)) not in get_args(allowed):
                raise InputError(f"{name} is {value!r}", hint=f"choose from {', '.join(get_args(allowed))}")
        if self.min_length < 1:
            raise InputError(f"min_length is {self.min_length}", hint="give 1 or more")
        if isinstance(self.names, str):
            raise InputError(f"names is {self.names!r}, which is one text", hint="give a set of types")
        if self.names and self.case != "smart":
            what = f"names are told from other words with smart case, not with {self.case}"
            raise InputError(what, hint="leave one of the two out")

    @property
    def key(self) -> str:
        """Text that is the same for equal options, in every process: a set is shown in another order each time."""
        names = None if self.names is None else sorted(self.names)
        return f"{sorted(self.stop)} {names} {replace(self, stop=frozenset(), names=None)}"
