"""A gazetteer: terms with their types, and where each of them came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.gazetteer.readers import read_entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from mproto.gazetteer.readers import Entry


@dataclass(frozen=True)
class Gazetteer:
    """Entries, in the order of their files."""

    entries: tuple[Entry, ...]

    @classmethod
    def load(cls, source: Mapping[str, Path | str] | Path | str) -> Self:
        """A folder of `TYPE.txt` files, or a file for each type: `{"Chemical": "chemicals.txt"}`.

        Raises:
            InputError: a file is missing, not UTF-8, or holds no term.
        """
        if isinstance(source, (str, Path)):
            return cls(tuple(read_entries(Path(source))))
        return cls(tuple(entry for type_, path in source.items() for entry in read_entries(Path(path), type_)))

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def types(self) -> tuple[str, ...]:
        """The types, each once, in order of appearance."""
        return tuple(dict.fromkeys(entry.type for entry in self.entries))

    @property
    def sizes(self) -> dict[str, int]:
        """How many entries each type has."""
        return dict(Counter(entry.type for entry in self.entries))

    @property
    def surfaces(self) -> set[str]:
        return {entry.surface for entry in self.entries}
