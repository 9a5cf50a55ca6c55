"""What was found so far, written down beside an output that is not whole yet, so that long work can be taken up again."""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from mproto.errors import InputError
from mproto.text.document import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from mproto.text.document import Document

FLUSHED = 100
"""Documents that are at most lost when the machine stops."""
ANEW = "start again with --force instead of --resume"


class Journal:
    """A line for each document that is done: the check sum of its text, its spans, and their scores.

    It goes when the work is done, and stays when it is not.

    Args:
        output: what is to be written in the end.
        about: what the work is done with, the same for the same model and settings.
        resume: whether to go on with a journal that is there.
        force: whether to begin anew where one is.

    Raises:
        InputError: there is one of other work, or one that nobody said what to do with.
    """

    def __init__(self, output: Path, about: str, *, resume: bool, force: bool = False) -> None:
        self.path = output.with_name(f".{output.name}.progress")
        self._about = about
        if not resume and not force:
            self._check_none(output)
        self._known = self._read() if resume else []
        self._new = 0
        self._file: IO[str] | None = None

    def _check_none(self, output: Path) -> None:
        """Hours of work may be written down here, and are not thrown away because somebody forgot an option."""
        try:
            with self.path.open("rb") as file:
                done = sum(1 for _ in file) - 1
        except OSError:  # there is none; or it cannot be written either, which is said then
            return
        if done > 0:
            what = f"work on this output was stopped after {done:,} documents"
            raise InputError(what, path=output, hint="go on with --resume, or begin anew with --force")

    def _read(self) -> list[list[Any]]:
        known: list[list[Any]] = []
        try:
            first, *lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return known
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read: {error}", path=self.path, hint=ANEW) from None
        if first != json.dumps(self._about):
            raise InputError("the work that was stopped had another model or other settings", path=self.path, hint=ANEW)
        for line in lines:
            try:
                known.append(json.loads(line))
            except ValueError:  # the last one, cut short
                break
        return known

    def __enter__(self) -> Self:
        fresh = self.path.with_name(f"{self.path.name}.fresh")
        try:
            self._file = fresh.open("w", encoding="utf-8")
            for line in (self._about, *self._known):
                self._file.write(json.dumps(line) + "\n")
            self._file.flush()
            fresh.replace(self.path)  # open all the same
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror})", path=self.path, hint="choose another output"
            ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._file is not None
        with suppress(OSError):
            self._file.close()
        if kind is None or not (self._known or self._new):
            self.path.unlink(missing_ok=True)

    def follow(
        self, documents: Iterable[Document], predict: Callable[[Iterator[Document]], Iterator[Document]]
    ) -> Iterator[Document]:
        """The documents with what is known of them already, and then with what is predicted, which is written down.

        Raises:
            InputError: a document is not the one that was there before.
        """
        assert self._file is not None
        documents = iter(documents)
        for number, (known, document) in enumerate(zip(self._known, documents, strict=False), 1):
            check, spans, scores = known
            if check != _check_sum(document):
                raise InputError(
                    f"document {number} is not the one that was there when the work was stopped", hint=ANEW
                )
            labelled = document.with_spans([Span(*span) for span in spans], document.gold)
            yield labelled.with_meta({**document.meta, "scores": scores})
        for found in predict(documents):
            self._file.write(json.dumps([_check_sum(found), found.spans, found.meta["scores"]]) + "\n")
            self._new += 1
            if self._new % FLUSHED == 0:
                self._file.flush()
            yield found


def _check_sum(document: Document) -> int:
    return zlib.crc32(document.text.encode("utf-8", "surrogatepass"))
