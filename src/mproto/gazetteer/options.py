"""Options of gazetteer matching."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from mproto.errors import InputError

Case = Literal["smart", "sensitive", "insensitive"]
Ambiguous = Literal["drop", "first", "keep-all"]
Normalise = Literal["NFC", "NFKC", "none"]


@dataclass(frozen=True)
class MatchOptions:
    """Options of gazetteer matching. The defaults are the default policy.

    Attributes:
        case: whether letter case matters. With `smart`, it matters for terms in capitals, terms of
            up to three characters, and names.
        normalise: the Unicode normalisation of terms and text. `NFKC` also unifies full-width and
            other compatibility forms.
        plurals: whether a term also matches with an added plural ending, or without its own (`-s`,
            `-es`, `-ies`).
        hyphens: whether a hyphen in a term also matches a space or nothing, and a space also
            matches a hyphen.
        min_length: the minimum length of terms, in characters; shorter terms are ignored.
        stop: terms to ignore, in any letter case.
        ambiguous: the labels of a term with several types: none (`drop`), that of its first entry
            (`first`), or all (`keep-all`).
        priority: types in descending priority. A term with several types gets the first of these
            that it has.
        names: with `smart` case, the types whose terms are names. A word that starts with a capital
            in a name must start with a capital in the text. `None` detects them: `annotate` and the
            doctor inspect the first thousand documents (`names.py`), and a recogniser has them from
            its training.
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
            raise InputError(f"min_length is {self.min_length}", hint="it must be at least 1")
        if isinstance(self.names, str):
            raise InputError(f"names is the string {self.names!r}", hint="give a set of types")
        if self.names and self.case != "smart":
            message = f"names need smart case, and case is {self.case}"
            raise InputError(message, hint="remove one of the two options")

    @property
    def key(self) -> str:
        """A string that is equal for equal options in all processes.

        The order of sets differs between processes.
        """
        names = None if self.names is None else sorted(self.names)
        return f"{sorted(self.stop)} {names} {replace(self, stop=frozenset(), names=None)}"
