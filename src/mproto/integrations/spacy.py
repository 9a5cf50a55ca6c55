"""A spaCy component: `nlp.add_pipe("mproto", config={"model": "my-model"})`.

spaCy imports this file through an entry point whenever it builds any pipeline. So the import must
be fast and must not fail: PyTorch or onnxruntime is imported when the first text is processed. The
model is loaded then, too. A saved pipeline contains its model, so it must not need the folder that
the model was first loaded from.
"""

# No `from __future__ import annotations`: spaCy validates configs with the factory's annotations, as types.
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from mproto.errors import InputError, MissingExtraError
from mproto.text.document import Document
from mproto.text.words import Word

try:
    import numpy as np
    import srsly
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span, SpanGroup
except ImportError:
    raise MissingExtraError("The component for spaCy", "spacy,train") from None

if TYPE_CHECKING:
    from mproto.recognizer import Entity, Recognizer

NAME = "mproto"
_BEGINS = 3
"""spaCy's `ent_iob` of the first token of an entity, and of a blocked token, which has no entity
type."""


class Settings(NamedTuple):
    """The settings in the config of the component.

    They are immutable, so that they always agree with the config.

    Attributes:
        threshold: the lowest score of an entity, for all types or by type.
        overwrite_entities: whether new entities replace existing ones that they overlap with. If
            not, the existing ones stay.
        spans_key: the key of the span group in `doc.spans` with all predicted entities.
        batch_size: the maximum number of windows in a batch.
    """

    threshold: float | dict[str, float] = 0.0
    overwrite_entities: bool = False
    spans_key: str = NAME
    batch_size: int = 64


DEFAULTS = Settings()


class RecognizerPipe(Pipe):
    """Find entities in spaCy's documents.

    Its words are spaCy's tokens, so every entity consists of whole tokens.

    Args:
        name: the name of the component.
        model: a folder or hub name for `Recognizer.from_pretrained`, which is called at the first
            text.
        settings: all other settings.
        scorer: the scorer for `nlp.evaluate`.

    Raises:
        InputError: a setting has a wrong value.
    """

    def __init__(
        self,
        name: str = NAME,
        *,
        model: str | None = None,
        settings: Settings = DEFAULTS,
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        given = settings.threshold if isinstance(settings.threshold, dict) else {"": settings.threshold}
        if not all(0 <= least <= 1 for least in given.values()):
            raise InputError(f"threshold is {settings.threshold}", hint="give numbers from 0 to 1")
        if settings.batch_size < 1:
            raise InputError(f"batch_size is {settings.batch_size}", hint="give 1 or more")
        self.name = name
        self.model = model
        self.settings = settings
        self.scorer = scorer
        self._recognizer: Recognizer | None = None

    @property
    def recognizer(self) -> "Recognizer":
        """The recogniser. It is loaded at first use, unless it has been set.

        Raises:
            InputError: no model was given, or it cannot be loaded.
        """
        if self._recognizer is None:
            if self.model is None:
                problem = f"the component {self.name!r} has no model"
                hint = f'name a model folder, nlp.add_pipe("{NAME}", config={{"model": "my-model"}})'
                raise InputError(problem, hint=f'{hint}, or set nlp.get_pipe("{self.name}").recognizer')
            self._recognizer = _recognizer_class().from_pretrained(self.model)
        return self._recognizer

    @recognizer.setter
    def recognizer(self, recognizer: "Recognizer") -> None:
        self._recognizer = recognizer

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types."""
        return self.recognizer.labels

    @property
    def hide_labels(self) -> bool:
        """Whether `nlp.meta` leaves out the labels.

        spaCy reads the labels before a saved pipeline has loaded its model.
        """
        return self._recognizer is None

    def __call__(self, doc: Doc) -> Doc:
        """Find the entities of a document."""
        return next(self.pipe([doc]), doc)  # if the error handler does not raise, the document stays as it is

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Find the entities of a stream of documents.

        `batch_size` documents are read ahead, as in all spaCy components.
        """
        stream = iter(stream)
        while docs := list(islice(stream, batch_size)):
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def predict(self, docs: Sequence[Doc]) -> list[list["Entity"]]:
        """Return the entities of each document."""
        settings = self.settings
        documents = [_document(doc) for doc in docs]
        return self.recognizer.predict_entities(documents, batch_size=settings.batch_size, threshold=settings.threshold)

    def set_annotations(self, docs: Sequence[Doc], found: Sequence[Sequence["Entity"]]) -> None:
        """Write entities to the span group, and those that do not overlap others to `doc.ents`."""
        for doc, entities in zip(docs, found, strict=True):
            first = {token.idx: token.i for token in doc}
            last = {token.idx + len(token): token.i for token in doc}
            places = (
                (first[start], last[end] + 1, label) for start, end, label in (entity.span for entity in entities)
            )
            spans = [Span(doc, start, end, label=label) for start, end, label in places]
            scores = np.array([entity.score for entity in entities], dtype=np.float32)
            key = self.settings.spans_key
            doc.spans[key] = SpanGroup(doc, name=key, attrs={"scores": scores}, spans=spans)
            _add_entities(doc, spans, overwrite=self.settings.overwrite_entities)

    def to_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002
        """Write the model into a folder of the pipeline."""
        self.recognizer.save_pretrained(path)

    def from_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> "RecognizerPipe":  # noqa: ARG002
        """Load the model from a folder of the pipeline."""
        self._recognizer = _recognizer_class().from_pretrained(Path(path))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of the model, packed with msgpack."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.to_disk(folder, exclude=exclude)
            files = (file for file in sorted(folder.rglob("*")) if file.is_file())
            packed = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
        data: bytes = srsly.msgpack_dumps(packed)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "RecognizerPipe":
        """Load the model from its packed files.

        Raises:
            InputError: the data is not a model, or a file in it would be written outside the model
                folder.
        """
        folder = tempfile.mkdtemp()
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        try:
            for name, content in srsly.msgpack_loads(data).items():
                place = PurePosixPath(name)
                if place.is_absolute() or ".." in place.parts:
                    raise InputError(
                        f"the packed model contains the file {name!r}, which is outside its folder",
                        hint="do not use it",
                    )
                file = Path(folder, place)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            self.from_disk(folder, exclude=exclude)
        except BaseException:
            remove()
            raise
        # An exported model needs its folder as long as it lives: saving copies the files from there.
        if hasattr(tagger := self.recognizer.tagger, "folder"):
            weakref.finalize(tagger, remove)
        else:
            remove()
        return self


@Language.factory(
    NAME,
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config={"model": None, **DEFAULTS._asdict(), "scorer": {"@scorers": "spacy.ner_scorer.v1"}},
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_recognizer_pipe(
    nlp: Language,  # noqa: ARG001
    name: str,
    model: str | None,
    threshold: float | dict[str, float],
    overwrite_entities: bool,
    spans_key: str,
    batch_size: int,
    scorer: Callable[..., dict[str, Any]] | None,
) -> RecognizerPipe:
    """Make the component from its config. spaCy calls this."""
    settings = Settings(threshold, overwrite_entities, spans_key, batch_size)
    return RecognizerPipe(name, model=model, settings=settings, scorer=scorer)


def _recognizer_class() -> type["Recognizer"]:
    from mproto.recognizer import Recognizer

    return Recognizer


def _document(doc: Doc) -> Document:
    """Return a document with spaCy's tokens as words, without white-space tokens."""
    words = [Word(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
    return Document(doc.text, given_words=tuple(words))


def _add_entities(doc: Doc, ours: Sequence[Span], *, overwrite: bool) -> None:
    """Add spans to the entities of a document.

    Where a new entity overlaps with an existing one, `overwrite` decides which of them stays, as in
    `EntityRuler`. Blocked tokens, which must not become entities, are treated like existing
    entities.
    """
    blocked = {token.i for token in doc if token.ent_iob == _BEGINS and not token.ent_type}
    theirs = list(doc.ents)
    if overwrite:
        new = {token.i for span in ours for token in span}
        theirs = [span for span in theirs if new.isdisjoint(range(span.start, span.end))]
        blocked -= new
    else:
        taken = blocked.union(*(range(span.start, span.end) for span in theirs))
        ours = [span for span in ours if taken.isdisjoint(range(span.start, span.end))]
    doc.set_ents([*theirs, *ours], blocked=[doc[i : i + 1] for i in sorted(blocked)], default="outside")
