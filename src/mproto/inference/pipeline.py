"""Call a recogniser like a Hugging Face pipeline: texts in, dictionaries out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, overload

from mproto.inference.provenance import provenance_of
from mproto.inference.styles import get_style, word_numbers
from mproto.inference.texts import as_documents, blocks, check_call, is_one
from mproto.inference.thresholds import thresholds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mproto.inference.entities import Entity
    from mproto.inference.gazetteer_terms import GazetteerTerms
    from mproto.inference.mentions import Mentions
    from mproto.inference.styles import Style
    from mproto.inference.thresholds import Threshold
    from mproto.text.document import Document

Text = TypeVar("Text", bound="str | Document")
Words = TypeVar("Words", list[str], tuple[str, ...])
ListStyle = Literal["hf", "gliner"]
"""Styles that give a list of dictionaries for each text; `spacy` gives one dictionary."""
Entities = list[dict[str, Any]]


class Options(TypedDict, total=False):
    """The optional arguments of every call."""

    threshold: Threshold
    provenance: bool
    batch_size: int


class TextOptions(Options, total=False):
    """The arguments of a call with texts."""

    is_split_into_words: Literal[False]


class WordOptions(Options):
    """The arguments of a call with texts that are split into words."""

    is_split_into_words: Literal[True]


class Pipeline(ABC):
    """A recogniser that can be called like a function. The call uses `predict_entities`.

    Attributes:
        mentions: example mentions from training, if the model has any.
        terms: the gazetteer that is used with the model, if any.
    """

    mentions: Mentions | None
    terms: GazetteerTerms | None

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The entity types."""

    @abstractmethod
    def predict_entities(
        self,
        documents: Sequence[Document],
        *,
        batch_size: int = 64,
        threshold: Threshold = None,
        features: bool = False,
    ) -> list[list[Entity]]:
        """Return the entities of each document."""

    # Strings, lists and tuples are iterables too. The first overload that matches is used, as at
    # run time, so the overlaps are harmless.
    @overload
    def __call__(self, texts: str, *, style: ListStyle = "hf", **options: Unpack[TextOptions]) -> Entities: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, texts: str, *, style: Literal["spacy"], **options: Unpack[TextOptions]) -> dict[str, Any]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, texts: list[Text] | tuple[Text, ...], *, style: ListStyle = "hf", **options: Unpack[TextOptions]
    ) -> list[Entities]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, texts: list[Text] | tuple[Text, ...], *, style: Literal["spacy"], **options: Unpack[TextOptions]
    ) -> list[dict[str, Any]]: ...
    @overload
    def __call__(
        self, texts: Iterable[Text], *, style: ListStyle = "hf", **options: Unpack[TextOptions]
    ) -> Iterator[Entities]: ...
    @overload
    def __call__(
        self, texts: Iterable[Text], *, style: Literal["spacy"], **options: Unpack[TextOptions]
    ) -> Iterator[dict[str, Any]]: ...
    @overload
    def __call__(
        self, texts: list[str] | tuple[str, ...], *, style: ListStyle = "hf", **options: Unpack[WordOptions]
    ) -> Entities: ...
    @overload
    def __call__(
        self, texts: list[str] | tuple[str, ...], *, style: Literal["spacy"], **options: Unpack[WordOptions]
    ) -> dict[str, Any]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, texts: list[Words] | tuple[Words, ...], *, style: ListStyle = "hf", **options: Unpack[WordOptions]
    ) -> list[Entities]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, texts: list[Words] | tuple[Words, ...], *, style: Literal["spacy"], **options: Unpack[WordOptions]
    ) -> list[dict[str, Any]]: ...
    @overload
    def __call__(
        self, texts: Iterable[Words], *, style: ListStyle = "hf", **options: Unpack[WordOptions]
    ) -> Iterator[Entities]: ...
    @overload
    def __call__(
        self, texts: Iterable[Words], *, style: Literal["spacy"], **options: Unpack[WordOptions]
    ) -> Iterator[dict[str, Any]]: ...

    def __call__(
        self,
        texts: Any,
        *,
        is_split_into_words: bool = False,
        threshold: Threshold = None,
        style: Style = "hf",
        provenance: bool = False,
        batch_size: int = 64,
    ) -> Any:
        """Find the entities of one text, of each text of a list, or of each text of a stream.

        In the default style, an entity is `{"entity_group", "score", "word", "start", "end"}`, and
        `text[start:end] == word`.

        Args:
            texts: one text; a list or tuple of texts, which gives a list; or another iterable of
                texts, which gives a generator that reads at most a thousand texts ahead.
            is_split_into_words: each text is a list of words. Offsets then count in the words
                joined by spaces, and each entity also has `word_start` and `word_end`, the
                half-open range of its words.
            threshold: the lowest score of an entity, for all types or for each type.
            style: `hf` (Hugging Face pipelines), `spacy` (the input of displaCy) or `gliner`.
            provenance: add the source of each entity: a term of the gazetteer, or the model's
                prototype and similar mentions in the training data.
            batch_size: the maximum number of windows in a batch.

        Raises:
            InputError: a text has the wrong type or is too long, or an argument is wrong.
        """
        write = get_style(style)
        thresholds(threshold, self.labels)  # report a wrong argument now, not when the stream is read
        check_call(texts, split=is_split_into_words, batch_size=batch_size)
        one = is_one(texts, split=is_split_into_words)
        documents = as_documents([texts] if one else texts, split=is_split_into_words)

        def written() -> Iterator[Any]:
            for block in blocks(documents):
                found = self.predict_entities(block, batch_size=batch_size, threshold=threshold, features=provenance)
                for document, entities in zip(block, found, strict=True):
                    extras = word_numbers(document, entities) if is_split_into_words else [{} for _ in entities]
                    if provenance:
                        for extra, known in zip(extras, self._provenance(document, entities), strict=True):
                            extra["provenance"] = known
                    yield write(document, entities, extras)

        if one:
            return next(written())
        return list(written()) if isinstance(texts, list | tuple) else written()

    def _provenance(self, document: Document, entities: Sequence[Entity]) -> list[dict[str, Any]]:
        known = {} if self.terms is None else {term.span: term.entry for term in self.terms.find(document)}
        return [provenance_of(entity, known.get(entity.span), self.mentions) for entity in entities]
