"""A gazetteer: terms with their types and the file and line of each."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from mproto.errors import Notes


class Entry(NamedTuple):
    """A term.

    Attributes:
        surface: the text of the term.
        type: its entity type.
        id: its id in the source list, or empty; aliases have the same id.
        case_sensitive: whether letter case matters; `None` leaves it to the matching options.
        file, line: the file and line that it was read from.
    """

    surface: str
    type: str
    id: str = ""
    case_sensitive: bool | None = None
    file: str = ""
    line: int = 0


_SURFACE, _TYPE, _CASE = (itemgetter(Entry._fields.index(name)) for name in ("surface", "type", "case_sensitive"))


@dataclass(frozen=True)
class Gazetteer:
    """A list of entries, in the order of their files."""

    entries: tuple[Entry, ...]

    @classmethod
    def load(
        cls,
        source: Mapping[str, Path | str | Sequence[Path | str]] | Path | str,
        *,
        columns: Sequence[str] = (),
        language: str | None = None,
        notes: Notes | None = None,
    ) -> Self:
        """Read a gazetteer from a file, a folder, or files by type (`{"Chemical": "drugs.txt"}`).

        Args:
            source: one path, or one or several paths for each type; `docs/gazetteers.md` lists the
                formats.
            columns: the columns of a table without a header, for example `("type", "term")`.
            language: the language of the labels to read from SKOS, for example `en`; labels without
                a language are read too. `None` reads all languages.
            notes: where rejected rows are counted. Without it, the first invalid row is an error.

        Raises:
            InputError: a file is missing, not UTF-8, contains no terms, or is ambiguous.
        """
        from mproto.gazetteer.readers import read_entries

        by_type = {None: source} if isinstance(source, (str, Path)) else source
        return cls(
            tuple(
                entry
                for type_, paths in by_type.items()
                for path in ([paths] if isinstance(paths, (str, Path)) else paths)
                for entry in read_entries(Path(path), type_, columns=tuple(columns), language=language, notes=notes)
            )
        )

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def types(self) -> tuple[str, ...]:
        """The distinct types, in order of appearance."""
        return tuple(dict.fromkeys(map(_TYPE, self.entries)))

    @property
    def sizes(self) -> dict[str, int]:
        """The number of entries of each type."""
        return dict(Counter(map(_TYPE, self.entries)))

    @property
    def surfaces(self) -> set[str]:
        return {entry.surface for entry in self.entries}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all surfaces, types and `case_sensitive` values, in order."""
        cases = set(map(_CASE, self.entries))
        digest = hashlib.sha256()
        for column in (
            map(_SURFACE, self.entries),
            map(_TYPE, self.entries),
            () if cases <= {None} else map(str, map(_CASE, self.entries)),
        ):
            digest.update("\n".join(column).encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()

    def head(self, fraction: float) -> Self:
        """Keep the first `int(fraction * n) + 1` entries of each type, as the paper does."""
        remaining = {type_: int(fraction * size) + 1 for type_, size in self.sizes.items()}
        kept = []
        for entry in self.entries:
            remaining[entry.type] -= 1
            if remaining[entry.type] >= 0:
                kept.append(entry)
        return replace(self, entries=tuple(kept))
