"""A component for spaCy: `nlp.add_pipe("mproto", config={"model": "my-model"})`.

An entry point names this file, so spaCy imports it for every pipeline that anybody makes, of whatever components: it must
be quick and must not fail. Nothing here looks for a neural network until the first text comes. That is also when the model
is loaded, since a pipeline that was saved brings its model along, and must not ask for the folder that it once came from.
"""

# No `from __future__ import annotations`: spaCy checks a config by its factory's annotations, which must not be strings.
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
"""spaCy's number for the first token of an entity; without a type, that of a token which must not become one."""


class Settings(NamedTuple):
    """What the config of the component says; it cannot be changed behind the config's back.

    Attributes:
        threshold: entities with a lower score are left out; one for all types, or one each for some.
        overwrite_entities: whether entities that are there already give way where they overlap, else they win.
        spans_key: of the span group in `doc.spans` that holds all that was found.
        batch_size: texts that go through the network together.
    """

    threshold: float | dict[str, float] = 0.0
    overwrite_entities: bool = False
    spans_key: str = NAME
    batch_size: int = 64


DEFAULTS = Settings()


class RecognizerPipe(Pipe):
    """Finds entities in spaCy's documents, with spaCy's tokens for words, so that every entity is made of whole tokens.

    Args:
        name: of the component.
        model: what `Recognizer.from_pretrained` takes; asked for at the first text.
        settings: all others.
        scorer: what `nlp.evaluate` calls.
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
            raise InputError(f"batch_size is {settings.batch_size}", hint="give a number from 1 on")
        self.name = name
        self.model = model
        self.settings = settings
        self.scorer = scorer
        self._recognizer: Recognizer | None = None

    @property
    def recognizer(self) -> "Recognizer":
        """The model, loaded where that has not happened yet. It can be set, too."""
        if self._recognizer is None:
            if self.model is None:
                what = f"the component {self.name!r} has no model"
                hint = f'nlp.add_pipe("{NAME}", config={{"model": "my-model"}}) names a folder that mproto train wrote'
                raise InputError(what, hint=f'{hint}, and nlp.get_pipe("{self.name}").recognizer takes one from Python')
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
        """Whether `nlp.meta` leaves the labels out: it is read before a saved pipeline has got its model back."""
        return self._recognizer is None

    def __call__(self, doc: Doc) -> Doc:
        """Find the entities of one document."""
        return next(self.pipe([doc]), doc)  # an error handler that goes on leaves the document as it is

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Find the entities of many; `batch_size` of them are read ahead, as spaCy asks for."""
        stream = iter(stream)
        while docs := list(islice(stream, batch_size)):
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def predict(self, docs: Sequence[Doc]) -> list[list["Entity"]]:
        """What the model finds in each document."""
        settings = self.settings
        documents = [_document(doc) for doc in docs]
        return self.recognizer.predict_entities(documents, batch_size=settings.batch_size, threshold=settings.threshold)

    def set_annotations(self, docs: Sequence[Doc], found: Sequence[Sequence["Entity"]]) -> None:
        """Write what was found into the documents: all of it into the span group, and what may be into the entities."""
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
        """Write the model into a folder of the pipeline's."""
        self.recognizer.save_pretrained(path)

    def from_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> "RecognizerPipe":  # noqa: ARG002
        """Take the model from there."""
        self._recognizer = _recognizer_class().from_pretrained(Path(path))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The same files, packed."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.to_disk(folder, exclude=exclude)
            files = (file for file in sorted(folder.rglob("*")) if file.is_file())
            packed = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
        data: bytes = srsly.msgpack_dumps(packed)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "RecognizerPipe":
        """Take the model from there."""
        folder = tempfile.mkdtemp()
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        try:
            for name, content in srsly.msgpack_loads(data).items():
                place = PurePosixPath(name)
                if place.is_absolute() or ".." in place.parts:
                    raise InputError(f"a packed model holds the file {name!r}", hint="do not use it: somebody meddled")
                file = Path(folder, place)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            self.from_disk(folder, exclude=exclude)
        except BaseException:
            remove()
            raise
        if hasattr(tagger := self.recognizer.tagger, "folder"):  # an exported one, whose files are copied to save it
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
    """The component that a config describes; spaCy calls this."""
    settings = Settings(threshold, overwrite_entities, spans_key, batch_size)
    return RecognizerPipe(name, model=model, settings=settings, scorer=scorer)


def _recognizer_class() -> type["Recognizer"]:
    from mproto.recognizer import Recognizer

    return Recognizer


def _document(doc: Doc) -> Document:
    """The same text with spaCy's tokens for words; those of white space are none."""
    words = [Word(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
    return Document(doc.text, given_words=tuple(words))


def _add_entities(doc: Doc, ours: Sequence[Span], *, overwrite: bool) -> None:
    """Make spans entities, beside those that are there already; where two overlap, one side gives way, as in `EntityRuler`.

    Tokens that were blocked, which means that they must not become entities, count as entities that are there.
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
