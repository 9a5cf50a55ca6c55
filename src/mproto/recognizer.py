"""The trained thing: text in, entities out."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from mproto.config import Config
from mproto.errors import InputError
from mproto.models.batch import collate, make_windows, plan
from mproto.models.devices import find_device, has_bfloat16
from mproto.models.encoder import Encoder
from mproto.models.registry import get_method
from mproto.models.weights import save_tensors
from mproto.text.document import Document, Span
from mproto.text.tagging import decode
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch import Tensor

    from mproto.models.base import Model, Prediction
    from mproto.models.batch import Batch

BEST = "best"
"""The folder of the chosen model inside that of a training run."""
AT_ONCE = 1024
"""Documents that are sorted by length together."""


class Entity(NamedTuple):
    """A predicted entity.

    Attributes:
        span: where it is, and its type.
        score: the mean of its words' scores, from 0 to 1.
        prototype: the prototype of its type nearest to its first word, such as `Disease-2`, where the model has any.
        margin: how much more similar that is than the nearest prototype of any other class; below 0 where the words beside it
            decided.
    """

    span: Span
    score: float
    prototype: str | None = None
    margin: float | None = None


class Recognizer:
    """Finds entities in texts.

    Args:
        model: what tags words.
        config: how it was trained.
        card: what else the model card says.
    """

    def __init__(self, model: Model, config: Config, card: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.config = config
        self.card = dict(card or {})

    def to(self, device: str) -> Recognizer:
        """Move it to a device: `auto`, `cpu`, `cuda` or `cuda:N`."""
        found = find_device(device)
        self.model.to(found)
        self.model.encoder.mixed = has_bfloat16(found)
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types."""
        return self.model.labels

    def __call__(
        self, texts: str | Sequence[str], *, explain: bool = False
    ) -> list[dict[str, Any]] | list[list[dict[str, Any]]]:
        """The entities of a text, or of each of several, as a Hugging Face pipeline gives them.

        Each is `{"entity_group", "score", "word", "start", "end"}`, with `text[start:end] == word`; with `explain`, also
        `prototype` and `margin`.
        """
        documents = [Document(text) for text in ([texts] if isinstance(texts, str) else texts)]
        found = [
            [_as_dict(document, entity, explain=explain) for entity in entities]
            for document, entities in zip(documents, self.entities(documents), strict=True)
        ]
        return found[0] if isinstance(texts, str) else found

    def predict(self, documents: Iterable[Document], *, batch_size: int = 32) -> Iterator[Document]:
        """The documents with predicted spans instead of their own; `meta["scores"]` holds the scores, in the same order."""
        for block in _blocks(documents, AT_ONCE):
            for document, entities in zip(block, self.entities(block, batch_size=batch_size), strict=True):
                labelled = document.with_spans([entity.span for entity in entities], document.gold)
                scores = [round(entity.score, 4) for entity in entities]
                yield labelled.with_meta({**document.meta, "scores": scores})

    def entities(self, documents: Sequence[Document], *, batch_size: int = 32) -> list[list[Entity]]:
        """The entities of each document, in order."""
        return self.read(documents, self.predictions(documents, batch_size=batch_size))

    def read(
        self, documents: Sequence[Document], predictions: Iterable[tuple[Batch, Prediction]]
    ) -> list[list[Entity]]:
        """The entities that predictions of the documents' words amount to."""
        found = [_Words(document.word_count) for document in documents]
        for batch, prediction in predictions:
            for window, rows in batch.own_words:
                found[window.document].fill(window.start, [c if c is None else c[rows].tolist() for c in prediction])
        names = self.model.prototype_names
        return [self._read(document, words, names) for document, words in zip(documents, found, strict=True)]

    def predictions(self, documents: Sequence[Document], *, batch_size: int = 32) -> Iterator[tuple[Batch, Prediction]]:
        """What the model says of the documents' words, batch by batch, the longest texts first."""
        encoder = self.model.encoder
        windows = make_windows([document.word_texts for document in documents], encoder.tokenizer, encoder.window)
        budget = batch_size * encoder.window
        batches = plan([len(w.input_ids) for w in windows], batch_size=batch_size, token_budget=budget)
        with inference(self.model):
            for batch in (collate([windows[i] for i in indices], encoder.pad_id) for indices in batches):
                yield batch, self.model.predict(batch.to(self.model.device))

    def _read(self, document: Document, words: _Words, names: Sequence[str]) -> list[Entity]:
        spans = decode([self.model.tags[number] for number in words.tags]).spans
        starts, ends = document.edges
        entities = []
        for start, end, label in spans:
            score = sum(words.scores[start:end]) / (end - start)
            nearest = (names[words.prototypes[start]], words.margins[start]) if names else (None, None)
            entities.append(Entity(Span(starts[start], ends[end - 1], label), score, *nearest))
        return entities

    def save_pretrained(self, folder: Path | str) -> None:
        """Write the model as a folder: `config.json`, `model.safetensors`, the tokenizer's files, and a model card.

        Raises:
            OSError: it cannot be written.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        description = {
            "mproto_version": __version__,
            "labels": list(self.labels),
            "encoder": {"name": self.model.encoder.name, "config": self.model.encoder.save_files(folder)},
            "settings": self.config.as_dict(),
            "card": self.card,
        }
        (folder / "config.json").write_text(json.dumps(description, ensure_ascii=False, indent=2) + "\n", "utf-8")
        save_tensors(self.model.state_dict(), folder / "model.safetensors")
        (folder / "README.md").write_text(_model_card(self), "utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str) -> Recognizer:
        """A model that `save_pretrained` wrote, or the best one of a training run.

        Raises:
            InputError: it is not there, not whole, or not a model.
        """
        folder = Path(folder)
        if (folder / BEST / "config.json").is_file():
            folder = folder / BEST
        description = _read_description(folder)
        try:
            config = Config().with_values({"shapes": False, **description["settings"]})  # older models had none
            parts = description["encoder"]
            encoder = Encoder.from_files(parts["config"], folder, parts["name"], shapes=config.shapes)
            model = get_method(config.method).build(encoder, description["labels"], config)
            weights = _load_weights(folder / "model.safetensors")
            if weights.keys() != model.state_dict().keys():
                raise ValueError(f"its weights are not those of the method {config.method}, which config.json names")
            model.load_state_dict(weights)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"is not a whole model: {error}", path=folder, hint="train or copy it again") from None
        return cls(model.eval(), config, description.get("card"))


class _Words:
    """What was predicted for each word of a document."""

    def __init__(self, count: int) -> None:
        self.tags = [0] * count
        self.scores = [0.0] * count
        self.prototypes: list[int] = []
        self.margins: list[float] = []

    def fill(self, start: int, columns: Sequence[list[Any] | None]) -> None:
        tags, scores, prototypes, margins = columns
        assert tags is not None
        assert scores is not None
        place = slice(start, start + len(tags))
        self.tags[place], self.scores[place] = tags, scores
        if prototypes is not None and margins is not None:
            self.prototypes = self.prototypes or [0] * len(self.tags)
            self.margins = self.margins or [0.0] * len(self.tags)
            self.prototypes[place], self.margins[place] = prototypes, margins


@contextmanager
def inference(model: Model) -> Iterator[None]:
    """Evaluation mode for a while; training goes on as before."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def _as_dict(document: Document, entity: Entity, *, explain: bool) -> dict[str, Any]:
    start, end, label = entity.span
    found = {"entity_group": label, "score": entity.score, "word": document.text[start:end], "start": start, "end": end}
    return {**found, "prototype": entity.prototype, "margin": entity.margin} if explain else found


def _blocks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    block: list[Document] = []
    for document in documents:
        block.append(document)
        if len(block) == size:
            yield block
            block = []
    if block:
        yield block


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        description = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"holds no model: config.json cannot be read ({error.strerror})", path=folder, hint="check the path"
        ) from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", path=path, hint="train or copy the model again") from None
    if not isinstance(description, dict) or "mproto_version" not in description:
        raise InputError("is not a model of mproto", path=folder, hint="name a folder that mproto train wrote")
    return description


def _load_weights(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot be read: {error}", path=path, hint="train or copy the model again") from None


def _whose_labels(card: Mapping[str, Any]) -> str:
    if "gazetteer" not in card:
        return "."
    people = card.get("documents labelled by people")
    return ", from labels that a term list gave" + (", and some that people did." if people else ", not people.")


def _model_card(recognizer: Recognizer) -> str:
    """A README for the model's folder."""
    lines = [
        "---",
        "library_name: mproto",
        "pipeline_tag: token-classification",
        "---",
        "",
        f"# Named-entity recogniser: {', '.join(recognizer.labels)}",
        "",
        f"Trained with mproto {__version__}, method `{recognizer.config.method}`, on the encoder "
        f"`{recognizer.model.encoder.name}`" + _whose_labels(recognizer.card),
        "",
        *(f"- {key}: {value}" for key, value in recognizer.card.items()),
        "",
        "```python",
        "from mproto import Recognizer",
        'ner = Recognizer.from_pretrained("this folder")',
        "```",
    ]
    return "\n".join(lines) + "\n"
