"""A gazetteer: terms with their types, and where each of them came from."""

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
        surface: how it is written.
        type: what it is.
        id: what the list calls it, where the list has ids; aliases share one.
        case_sensitive: whether letter case matters; `None` leaves that to the matching options.
        file, line: where it came from.
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
    """Entries, in the order of their files."""

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
        """Read a gazetteer from a file, a folder, or a file or several for each type: `{"Chemical": "chemicals.txt"}`.

        Args:
            source: see `docs/gazetteers.md` for the formats.
            columns: what the columns of a table without a header are, say `("type", "term")`.
            language: where labels have languages (SKOS), the one to read; labels without any are read too.
            notes: where left-out rows are counted; without, the first wrong row is an error.

        Raises:
            InputError: a file is missing, not UTF-8, holds no term, or cannot be understood without a guess.
        """
        from mproto.gazetteer.readers import read_entries

        named = {None: source} if isinstance(source, (str, Path)) else source
        return cls(
            tuple(
                entry
                for type_, paths in named.items()
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
        """The types, each once, in order of appearance."""
        return tuple(dict.fromkeys(map(_TYPE, self.entries)))

    @property
    def sizes(self) -> dict[str, int]:
        """How many entries each type has."""
        return dict(Counter(map(_TYPE, self.entries)))

    @property
    def surfaces(self) -> set[str]:
        return {entry.surface for entry in self.entries}

    @cached_property
    def fingerprint(self) -> str:
        """Changes when a surface, a type, a case mark or their order does; not with files and lines."""
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
        """The first `int(fraction · n) + 1` entries of each type, which is how the paper makes smaller dictionaries."""
        left = {type_: int(fraction * size) + 1 for type_, size in self.sizes.items()}
        kept = []
        for entry in self.entries:
            left[entry.type] -= 1
            if left[entry.type] >= 0:
                kept.append(entry)
        return replace(self, entries=tuple(kept))
