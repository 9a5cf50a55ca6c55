"""The trained thing: text in, entities out."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mproto.encoding.plan import longest_first
from mproto.encoding.shapes import keeps_case
from mproto.encoding.windows import make_windows
from mproto.errors import InputError
from mproto.gazetteer.options import MatchOptions
from mproto.inference.entities import Entity, read_entities
from mproto.inference.gazetteer_terms import GazetteerTerms
from mproto.inference.provenance import provenance_of
from mproto.inference.styles import get_style, word_numbers
from mproto.inference.texts import as_documents, blocks, check_batch_size, check_call, check_length, is_one
from mproto.inference.thresholds import thresholds
from mproto.io.outputs import Outputs
from mproto.persistence.card import NAMES, model_card, with_scores
from mproto.persistence.files import (
    BEST,
    CONFIG,
    as_json,
    model_folder,
    read_description,
)
from mproto.persistence.hub import find_model, push_to_hub
from mproto.persistence.model_folder import load, model_fingerprint, save
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mproto.config import Config
    from mproto.encoding.windows import Window
    from mproto.gazetteer.entries import Gazetteer
    from mproto.inference.gazetteer_terms import Combination
    from mproto.inference.mentions import Mentions
    from mproto.inference.styles import Style
    from mproto.inference.tagger import Tagged, Tagger
    from mproto.inference.thresholds import Threshold
    from mproto.models.base import Model
    from mproto.text.document import Document
    from mproto.text.scoring import Counts

__all__ = ["BEST", "Entity", "Recognizer"]

CONTEXT_OF = 16
"""Of a window, one sub-word in so many on each side is another window's own; more costs time, and finds no more."""


class Recognizer:
    """Finds entities in texts.

    Args:
        tagger: what tags words.
        config: how it was trained.
        card: what else the model card says.
        mentions: that it learnt from, to compare new ones with.

    Attributes:
        terms: a gazetteer beside the model (`with_gazetteer`), if any.
        fingerprint: of the weights, for a model that was read from a folder.
    """

    def __init__(
        self,
        tagger: Tagger,
        config: Config,
        card: Mapping[str, Any] | None = None,
        mentions: Mentions | None = None,
    ) -> None:
        self.tagger = tagger
        self.config = config
        self.card = dict(card or {})
        self.mentions = mentions
        self.terms: GazetteerTerms | None = None
        self.fingerprint = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types: the model's, and those of the terms that are found beside it."""
        beside = self.terms.types if self.terms is not None and self.terms.combination != "off" else ()
        return tuple(dict.fromkeys((*self.tagger.labels, *beside)))

    @property
    def model(self) -> Model:
        """The network, as torch has it.

        Raises:
            InputError: it is an exported one.
        """
        if not hasattr(self.tagger, "encoder"):
            raise InputError("an exported model only finds entities", hint="use the model that it was exported from")
        return cast("Model", self.tagger)

    def to(self, device: str) -> Recognizer:
        """Move it to a device: `auto`, `cpu`, `cuda` or `cuda:N`. Exported models stay where they are."""
        if hasattr(self.tagger, "encoder"):
            from mproto.models.devices import find_device
            from mproto.models.precision import has_bfloat16

            found = find_device(device)
            self.model.to(found)
            self.model.encoder.mixed = has_bfloat16(found)
        elif device not in ("auto", "cpu"):
            raise InputError(f"an exported model runs on the CPU, not on {device!r}", hint="leave the device out")
        return self

    def with_gazetteer(
        self, gazetteer: Gazetteer, combination: Combination = "off", options: MatchOptions = MatchOptions()
    ) -> Recognizer:
        """The same recogniser with a gazetteer beside it.

        Args:
            gazetteer: its terms tell where an entity is known from, if provenance is asked for.
            combination: `union` also finds terms where the model finds nothing; with `prefer-gazetteer` they count where the
                two differ; `off` finds no more than the model.
            options: how to match; see `matching`.
        """
        other = copy(self)
        other.terms = GazetteerTerms(gazetteer, combination, self.matching(gazetteer, options))
        return other

    def matching(self, gazetteer: Gazetteer, options: MatchOptions = MatchOptions()) -> MatchOptions:
        """Options that say which types are names: those that training took for names, where they do not say so themselves.

        Where training had no gazetteer but labels, the mentions that the model remembers tell.
        """
        if options.case != "smart" or options.names is not None:
            return options
        known = self.card.get(NAMES)
        if not isinstance(known, list | tuple):  # whatever else somebody may have written there
            known = self.mentions.names() if self.mentions else ()
        return replace(options, names=frozenset(type_ for type_ in gazetteer.types if type_ in known))

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
        """The entities of a text, of each of several, or of each of a stream.

        With the style of Hugging Face pipelines, each is `{"entity_group", "score", "word", "start", "end"}`, and
        `text[start:end] == word`.

        Args:
            texts: a text; or a list of texts, for a list; or any other iterable of them, for a generator that reads no
                further ahead than a thousand texts.
            is_split_into_words: a text is a list of words. Offsets are those in the words joined by blanks, and each entity
                also has the numbers of its words, `word_start` and `word_end`.
            threshold: the least score of an entity, for all types or for each.
            style: `hf`, `spacy` (what displaCy takes) or `gliner`.
            provenance: whether each entity is to say where it is known from: a term of the gazetteer, or the model's
                prototype and the training mentions that it is like.
            batch_size: windows that are read at once.

        Raises:
            InputError: something there is no text, or too long, or the call is wrong.
        """
        write = get_style(style)
        thresholds(threshold, self.labels)  # what is wrong is so at once, and not when somebody reads the stream
        check_call(texts, split=is_split_into_words, batch_size=batch_size)
        one = is_one(texts, split=is_split_into_words)
        documents = as_documents([texts] if one else texts, split=is_split_into_words)

        def written() -> Iterator[Any]:
            for block in blocks(documents):
                found = self.entities(block, batch_size=batch_size, threshold=threshold, features=provenance)
                for document, entities in zip(block, found, strict=True):
                    extras = word_numbers(document, entities) if is_split_into_words else [{} for _ in entities]
                    if provenance:
                        for extra, known in zip(extras, self._provenance(document, entities), strict=True):
                            extra["provenance"] = known
                    yield write(document, entities, extras)

        if one:
            return next(written())
        return list(written()) if isinstance(texts, list | tuple) else written()

    def predict(
        self, documents: Iterable[Document], *, batch_size: int = 64, threshold: Threshold = None
    ) -> Iterator[Document]:
        """The documents with predicted spans instead of their own; `meta["scores"]` holds the scores, in the same order.

        Args:
            documents: any; no more than a thousand are looked at ahead.
            batch_size: windows that are read at once.
            threshold: the least score of an entity, for all types or for each.
        """
        for block in blocks(documents):
            found = self.entities(block, batch_size=batch_size, threshold=threshold)
            for document, entities in zip(block, found, strict=True):
                labelled = document.with_spans([entity.span for entity in entities], document.gold)
                scores = [round(entity.score, 4) for entity in entities]
                yield labelled.with_meta({**document.meta, "scores": scores})

    def entities(
        self,
        documents: Sequence[Document],
        *,
        batch_size: int = 64,
        threshold: Threshold = None,
        features: bool = False,
    ) -> list[list[Entity]]:
        """The entities of each document, in order.

        Args:
            documents: any.
            batch_size: windows that are read at once.
            threshold: the least score of an entity that the model finds, for all types or for each.
            features: whether each is to have that of its first word.
        """
        least = thresholds(threshold, self.labels)
        tagged = self.tagged(documents, batch_size=batch_size, features=features)
        found = read_entities(documents, tagged, self.tagger.tags, self.tagger.prototype_names)
        found = [[entity for entity in own if entity.score >= least[entity.span.label]] for own in found]
        if self.terms is None or self.terms.combination == "off":
            return found
        terms = self.terms
        return [terms.combine(own, terms.find(document)) for document, own in zip(documents, found, strict=True)]

    def tagged(
        self, documents: Sequence[Document], *, batch_size: int = 64, features: bool = False
    ) -> Iterator[tuple[list[Window], Tagged]]:
        """What the model says of the documents' words, some windows at a time, the longest first.

        Raises:
            InputError: a document is too long, or the call is wrong; told at once, before anybody splits a text into words.
        """
        check_batch_size(batch_size)
        for document in documents:
            check_length(document)
        return self._tagged(documents, batch_size, features=features)

    def _tagged(
        self, documents: Sequence[Document], batch_size: int, *, features: bool
    ) -> Iterator[tuple[list[Window], Tagged]]:
        tagger = self.tagger
        texts = [document.word_texts for document in documents]
        windows = make_windows(texts, tagger.tokens, tagger.window, tagger.window // CONTEXT_OF)
        lengths = [len(window.input_ids) for window in windows]
        budget = max(tagger.tokens_per_batch or batch_size * tagger.window, tagger.window)
        for places in longest_first(range(len(windows)), lengths, batch_size=batch_size, token_budget=budget):
            batch = [windows[place] for place in places]
            yield batch, tagger.tag(batch, features=features)

    def _provenance(self, document: Document, entities: Sequence[Entity]) -> list[dict[str, Any]]:
        known = {} if self.terms is None else {term.span: term.entry for term in self.terms.find(document)}
        return [provenance_of(entity, known.get(entity.span), self.mentions) for entity in entities]

    def save_pretrained(self, folder: Path | str) -> None:
        """Write the model as a folder: `config.json`, `model.safetensors`, the tokenizer's files, and a model card.

        It may be the folder that the model came from. Where there is another model, this one takes its place, all at once.

        Raises:
            InputError: an exported model is not where it was loaded from any more.
            OSError: it cannot be written.
        """
        save(Path(folder), self.tagger, self.config, self.card, self.mentions, self.model_card())

    def model_card(self) -> str:
        """A README for whoever finds the model."""
        return model_card(
            self.tagger.labels,
            self.config.method,
            self.tagger.encoder_name,
            self.card,
            __version__,
            self.config.as_dict(),
            scheme="bio" if any(tag.startswith("B-") for tag in self.tagger.tags) else "io",
            keeps_case=keeps_case(self.tagger.tokens),
            int8=getattr(self.tagger, "int8", None),
        )

    def record_scores(self, folder: Path | str, corpus: str, scores: Counts) -> None:
        """Write into the card of the model in a folder how good it is on a corpus, in the place of what was said of it.

        Args:
            folder: that it was read from, or of the training run.
            corpus: what to call it.
            scores: as `score(…).overall` has them, of the model without terms beside it.

        Raises:
            InputError: the folder holds no model, or another one.
            MprotoError: it cannot be written.
        """
        folder = model_folder(Path(folder))
        with Outputs(force=True) as outputs:
            outputs.hold(folder)
            description = read_description(folder)
            if self.fingerprint and model_fingerprint(description) != self.fingerprint:
                raise InputError("holds another model than the one that was scored", path=folder, hint="score it again")
            card = with_scores(description.get("card") or {}, corpus, scores.as_dict())
            self.card = dict(card)
            outputs.open(folder / CONFIG).write(as_json({**description, "card": card}))
            outputs.open(folder / "README.md").write(self.model_card().encode())

    def push_to_hub(
        self,
        name: str,
        *,
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        commit_message: str = "Upload a model of mproto",
    ) -> str:
        """Send it to the Hugging Face hub; its address there. See `mproto.persistence.hub.push_to_hub`."""
        return push_to_hub(self, name, private=private, token=token, revision=revision, commit_message=commit_message)

    @classmethod
    def from_pretrained(
        cls, name_or_path: Path | str, *, revision: str | None = None, token: str | bool | None = None
    ) -> Recognizer:
        """A model that `save_pretrained` or `mproto export` wrote, the best one of a training run, or one of the hub.

        Args:
            name_or_path: a folder; or, as a string, a name of the Hugging Face hub, `user/name`.
            revision: a branch, a tag or a commit there.
            token: for one that not everybody may see; without, that of `hf auth login`.

        Raises:
            InputError: it is not there, not whole, or not a model.
        """
        stored = load(model_folder(find_model(name_or_path, revision=revision, token=token)))
        recognizer = cls(stored.tagger, stored.config, stored.card, stored.mentions)
        recognizer.fingerprint = stored.fingerprint
        return recognizer
