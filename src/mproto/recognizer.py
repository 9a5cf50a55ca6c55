"""A trained recogniser: text in, entities out."""

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
from mproto.inference.gazetteer_terms import WITHOUT_RECOMMENDATION, GazetteerTerms
from mproto.inference.pipeline import Pipeline
from mproto.inference.texts import blocks, check_batch_size, check_length
from mproto.inference.thresholds import thresholds
from mproto.io.outputs import Outputs
from mproto.persistence.card import model_card, recommended_combination, with_scores
from mproto.persistence.files import (
    BEST,
    CONFIG,
    as_json,
    model_folder,
    read_description,
)
from mproto.persistence.hub import find_model, push_to_hub
from mproto.persistence.model_folder import card_and_name_types, load, model_fingerprint, save
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mproto.config import Config
    from mproto.encoding.windows import Window
    from mproto.errors import Notes
    from mproto.gazetteer.entries import Gazetteer
    from mproto.inference.gazetteer_terms import Combination
    from mproto.inference.mentions import Mentions
    from mproto.inference.tagger import Tagged, Tagger
    from mproto.inference.thresholds import Threshold
    from mproto.models.base import Model
    from mproto.text.document import Document
    from mproto.text.scoring import Counts

__all__ = ["BEST", "Entity", "Recognizer"]

CONTEXT_OF = 16
"""The context on each side of a window, which overlaps with the neighbouring window, is 1/16 of its
sub-words. More context takes more time and finds no additional entities."""


class Recognizer(Pipeline):
    """Finds entities in texts.

    - `ner("a text")` returns dictionaries, like a pipeline of Hugging Face transformers.
    - `ner.predict(documents)` returns the documents with predicted spans.
    - `ner.predict_entities(documents)` returns `Entity` tuples, and `ner.predict_words(documents)`
      the network's output for each word.

    Args:
        tagger: the model that tags words.
        config: the settings it was trained with.
        card: further facts for the model card.
        mentions: example mentions from training, for provenance.
        name_types: entity types whose terms were matched as names in training; `None` if training
            matched no terms.

    Attributes:
        terms: the gazetteer that is used with the model (`with_gazetteer`), if any.
        fingerprint: the fingerprint of the model's files; empty if it was not read from a folder.
    """

    def __init__(
        self,
        tagger: Tagger,
        config: Config,
        card: Mapping[str, Any] | None = None,
        mentions: Mentions | None = None,
        name_types: Iterable[str] | None = None,
    ) -> None:
        self.tagger = tagger
        self.config = config
        self.card = dict(card or {})
        self.mentions = mentions
        self.name_types = None if name_types is None else frozenset(name_types)
        self.terms: GazetteerTerms | None = None
        self.fingerprint = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types of the model, and those of a gazetteer that is combined with it.

        The model's types are also there if only terms are found (`terms`), so that the same thresholds are valid.
        """
        added = self.terms.types if self.terms is not None and self.terms.combination != "off" else ()
        return tuple(dict.fromkeys((*self.tagger.labels, *added)))

    @property
    def recommended_combination(self) -> Combination | None:
        """The combination with a gazetteer that had the best expected F1 in training; `None` if training estimated none."""
        return recommended_combination(self.card)

    @property
    def model(self) -> Model:
        """The PyTorch network.

        Raises:
            InputError: the model is an exported one, which has no PyTorch network.
        """
        if not hasattr(self.tagger, "encoder"):
            raise InputError("an exported model only finds entities", hint="use the model that it was exported from")
        return cast("Model", self.tagger)

    def to(self, device: str) -> Recognizer:
        """Move the model to a device: `auto`, `cpu`, `cuda` or `cuda:N`.

        Exported models run on the CPU only.
        """
        if hasattr(self.tagger, "encoder"):
            from mproto.models.devices import find_device
            from mproto.models.precision import has_bfloat16

            target = find_device(device)
            self.model.to(target)
            self.model.encoder.mixed = has_bfloat16(target)
        elif device not in ("auto", "cpu"):
            raise InputError(f"an exported model runs on the CPU, not on {device!r}", hint="leave the device out")
        return self

    def with_gazetteer(
        self,
        gazetteer: Gazetteer,
        combination: Combination | None = None,
        options: MatchOptions = MatchOptions(),
        notes: Notes | None = None,
    ) -> Recognizer:
        """Return a recogniser that uses a gazetteer together with this model.

        Args:
            gazetteer: the terms.
            combination: `prefer-gazetteer` finds the terms too, and they win where the two
                disagree; `union` finds terms only where the model finds nothing; `terms` finds only
                the terms; `off` finds only the model's entities, and uses the gazetteer for
                provenance only. By default `recommended_combination`, or `prefer-gazetteer` if
                there is none.
            options: how to match terms; see `matching`.
            notes: counts terms of types that the model does not have.
        """
        if notes is not None:
            notes.count(*self._terms_of_other_types(gazetteer))
        if combination is None:
            combination = self.recommended_combination or WITHOUT_RECOMMENDATION
        other = copy(self)
        other.terms = GazetteerTerms(gazetteer, combination, self.matching(gazetteer, options))
        return other

    def _terms_of_other_types(self, gazetteer: Gazetteer) -> tuple[str, int]:
        """Say of how many terms the model does not have the type: a type that is spelt differently is easy to miss."""
        other = {type_: size for type_, size in gazetteer.sizes.items() if type_ not in self.tagger.labels}
        own = ", ".join(self.tagger.labels)
        return f"terms have a type that the model does not have: {', '.join(other)} (it has {own})", sum(other.values())

    def matching(self, gazetteer: Gazetteer, options: MatchOptions = MatchOptions()) -> MatchOptions:
        """Return the options, with the name types added unless the options set them.

        The name types are those whose terms were matched as names in training. If training matched
        no terms, they are derived from the model's example mentions.
        """
        if options.case != "smart" or options.names is not None:
            return options
        known = self.name_types
        if known is None:
            known = self.mentions.names() if self.mentions else frozenset()
        return replace(options, names=known & set(gazetteer.types))

    def predict(
        self, documents: Iterable[Document], *, batch_size: int = 64, threshold: Threshold = None
    ) -> Iterator[Document]:
        """Yield the documents with predicted spans instead of their own.

        `meta["scores"]` holds the scores of the spans, in the same order.

        Args:
            documents: the documents; at most a thousand are read ahead.
            batch_size: the number of windows in a batch.
            threshold: the lowest score of an entity, for all types or for each type.
        """
        for block in blocks(documents):
            predicted = self.predict_entities(block, batch_size=batch_size, threshold=threshold)
            for document, entities in zip(block, predicted, strict=True):
                labelled = document.with_spans([entity.span for entity in entities], document.gold)
                scores = [round(entity.score, 4) for entity in entities]
                yield labelled.with_meta({**document.meta, "scores": scores})

    def predict_entities(
        self,
        documents: Sequence[Document],
        *,
        batch_size: int = 64,
        threshold: Threshold = None,
        features: bool = False,
    ) -> list[list[Entity]]:
        """Return the entities of each document, in order.

        Args:
            documents: the documents.
            batch_size: the number of windows in a batch.
            threshold: the lowest score of an entity found by the model, for all types or for each
                type.
            features: give each entity the feature vector of its first word.
        """
        lowest = thresholds(threshold, self.labels)
        words = self.predict_words(documents, batch_size=batch_size, features=features)
        candidates = read_entities(documents, words, self.tagger.tags, self.tagger.prototype_names)
        predicted = [[entity for entity in row if entity.score >= lowest[entity.span.label]] for row in candidates]
        if self.terms is None or self.terms.combination == "off":
            return predicted
        terms = self.terms
        return [terms.combine(row, terms.find(document)) for document, row in zip(documents, predicted, strict=True)]

    def predict_words(
        self, documents: Sequence[Document], *, batch_size: int = 64, features: bool = False
    ) -> Iterator[tuple[list[Window], Tagged]]:
        """Yield the model's output for the documents' words, in batches, the longest windows first.

        Args:
            documents: the documents.
            batch_size: the number of windows in a batch.
            features: include the feature vector of each word.

        Raises:
            InputError: a document is too long, or an argument is wrong. Raised at the call, not
                when the result is read.
        """
        check_batch_size(batch_size)
        for document in documents:
            check_length(document)
        return self._predict_words(documents, batch_size, features=features)

    def _predict_words(
        self, documents: Sequence[Document], batch_size: int, *, features: bool
    ) -> Iterator[tuple[list[Window], Tagged]]:
        tagger = self.tagger
        texts = [document.word_texts for document in documents]
        windows = make_windows(texts, tagger.tokens, tagger.window, tagger.window // CONTEXT_OF)
        lengths = [len(window.input_ids) for window in windows]
        budget = max(tagger.tokens_per_batch or batch_size * tagger.window, tagger.window)
        for indices in longest_first(range(len(windows)), lengths, batch_size=batch_size, token_budget=budget):
            batch = [windows[index] for index in indices]
            yield batch, tagger.tag(batch, features=features)

    def save_pretrained(self, folder: Path | str) -> None:
        """Save the model as a folder.

        It contains `config.json`, `model.safetensors`, the tokenizer's files, and a model card.

        The folder may be the one that the model was loaded from. Another model in the folder is
        replaced as a whole.

        Raises:
            InputError: the model is an exported one, and its files have been moved or changed.
            OSError: the folder cannot be written.
        """
        card = self.model_card()
        save(Path(folder), self.tagger, self.config, self.card, self.mentions, card, name_types=self.name_types)

    def model_card(self) -> str:
        """Return the model card, the README of a saved model."""
        return model_card(
            self.tagger.labels,
            self.config.method,
            self.tagger.encoder_name,
            self.card,
            __version__,
            self.config.as_dict(),
            name_types=sorted(self.name_types or ()),
            scheme="bio" if any(tag.startswith("B-") for tag in self.tagger.tags) else "io",
            keeps_case=keeps_case(self.tagger.tokens),
            int8=getattr(self.tagger, "int8", None),
        )

    def record_scores(self, folder: Path | str, corpus: str, scores: Counts) -> None:
        """Write the model's scores on a corpus into the model card in a folder.

        Earlier scores on the same corpus are replaced.

        Args:
            folder: the folder that the model was read from, or that of the training run.
            corpus: a name for the corpus.
            scores: `score(…).overall` of the model without a gazetteer.

        Raises:
            InputError: the folder contains no model, or another one.
            MprotoError: the folder cannot be written.
        """
        folder = model_folder(Path(folder))
        with Outputs(force=True) as outputs:
            outputs.hold(folder)
            description = read_description(folder)
            if self.fingerprint and model_fingerprint(description) != self.fingerprint:
                raise InputError(
                    "contains another model than the one that was scored", path=folder, hint="score it again"
                )
            old, _ = card_and_name_types(description)
            self.card = with_scores(old, corpus, scores.as_dict())
            names = {} if self.name_types is None else {"name_types": sorted(self.name_types)}
            outputs.open(folder / CONFIG).write(as_json({**description, **names, "card": self.card}))
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
        """Upload the model to the Hugging Face hub and return its URL.

        See `mproto.persistence.hub.push_to_hub`.
        """
        return push_to_hub(self, name, private=private, token=token, revision=revision, commit_message=commit_message)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: Path | str,
        *,
        device: str = "auto",
        revision: str | None = None,
        token: str | bool | None = None,
    ) -> Recognizer:
        """Load a model from a folder or from the Hugging Face hub.

        Args:
            name_or_path: a folder written by `save_pretrained` or `mproto export`; the folder of a
                training run, for its best model; or, as a string, a name on the hub, `user/name`.
            device: `auto` (the GPU if there is one), `cpu`, `cuda` or `cuda:N`.
            revision: a branch, tag or commit on the hub.
            token: an access token for private models on the hub; by default the one of `hf auth
                login`.

        Raises:
            InputError: there is no model, it is damaged, or the device is not available.
        """
        saved = load(model_folder(find_model(name_or_path, revision=revision, token=token)))
        recognizer = cls(saved.tagger, saved.config, saved.card, saved.mentions, saved.name_types)
        recognizer.fingerprint = saved.fingerprint
        return recognizer.to(device)
