"""What every model is to the training loop and to the recogniser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from mproto.encoding.plan import CPU_TOKEN_BUDGET
from mproto.inference.tagger import Tagged
from mproto.models.batch import collate
from mproto.models.process_group import ALONE, Group
from mproto.text.tagging import OUTSIDE, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from torch import Tensor

    from mproto.config import Config
    from mproto.denoising.estimate import Shares
    from mproto.encoding.tokens import Tokens
    from mproto.encoding.windows import Window
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.document import Document
    from mproto.text.tagging import OutputScheme


@dataclass(frozen=True, eq=False)
class Step:
    """One training step's forward pass.

    Attributes:
        loss: a scalar with a graph, the mean over `weight` words. Where a loss is no mean over words, each process gives its
            part of it times their number, and a weight of 1.
        logs: what to write into the history.
        finish: what is left to do once the weights have moved. The loop calls it; nothing else does.
    """

    loss: Tensor
    weight: float
    logs: dict[str, float] = field(default_factory=dict)
    finish: Callable[[], None] = lambda: None


class Stage(NamedTuple):
    """A part of training, with an optimiser and a schedule of its own.

    Attributes:
        share: of all steps. Where the shares of a model add up to less than 1, its training is so much shorter.
        counts: whether weights of this stage may be the ones that are kept.
    """

    share: float
    counts: bool = True


class Prediction(NamedTuple):
    """What a model says about the W words of a batch.

    Attributes:
        tags: (W,) long.
        scores: (W,) from 0 to 1, how sure each is.
        prototype: (W,) long, the nearest prototype of the tag's class, where the model has any.
        margin: (W,) how much more similar it is than the nearest prototype of any other class; below 0 where a word is what
            its neighbours make of it.
    """

    tags: Tensor
    scores: Tensor
    prototype: Tensor | None = None
    margin: Tensor | None = None


class Decisions(NamedTuple):
    """How likely each answer is to the questions that a model asks about a batch; with a graph.

    Attributes:
        answers: (N, C) log-probabilities, one tensor for each kind of question. Most models have one kind, the tag of
            each word: (W, T).
        about: what the questions are about, where that depends on the model's own answers.
    """

    answers: tuple[Tensor, ...]
    about: Any = None


SHORTEST_REACH = 128
"""Sub-words: the least `Model.reach`, however short the training sentences are."""


class Model(nn.Module, ABC):
    """An encoder and a way to tag words.

    Attributes:
        encoder: from words to features.
        labels: the entity types.
        scheme: of the tags.
        tags: `O`, then those of the types.
        group: the processes that train it.
        stage: the one that training is in; the loop sets it.
        calibration: the temperature of scores, on top of that of decisions, which it does not change.
        by_word: whether `decide` answers for each word what its tag is.
        reach: the sub-words that all but few of the training inputs have at most.
        price: what leaving out a word labelled O costs, if learning an entity as O costs 1.
    """

    reach: int = SHORTEST_REACH
    calibration: float = 1.0
    by_word: bool = True
    price: float = 1 / 3
    group: Group = ALONE
    stage: int = 0

    def __init__(self, encoder: Encoder, labels: Iterable[str], scheme: OutputScheme = "io") -> None:
        super().__init__()
        self.encoder = encoder
        self.labels = tuple(labels)
        self.scheme = scheme
        prefixes = "I" if scheme == "io" else "BI"
        self.tags = (OUTSIDE, *(f"{prefix}-{label}" for label in self.labels for prefix in prefixes))

    @property
    def encoder_name(self) -> str:
        return self.encoder.name

    @classmethod
    @abstractmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        """A new model, not trained yet."""

    def start(self, batches: Iterator[Batch], generator: torch.Generator) -> None:
        """Look at some labelled batches before the first step; most models need not."""

    def learn_order(self, tags: Iterable[Sequence[int]]) -> None:
        """Be told the tags of all training words, by document, before the first step."""

    def learn_words(self, words: Sequence[str], labelled: Sequence[float]) -> None:
        """Be told the distinct words of training before the first step, while the encoder is as it came.

        Args:
            words: how they are written, by number.
            labelled: the share of each one's mentions that is labelled as an entity.
        """

    @property
    def rehearsal_share(self) -> float:
        """The share of training with some words kept aside, after which the model is told how much is unlabelled."""
        return 0.0

    def learn_unlabelled(self, shares: Shares) -> None:
        """Be told how much is unlabelled."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The parts of training; one, for most models."""
        return (Stage(1.0),)

    def begin(self, batches: Iterable[Batch]) -> None:
        """What comes before the first step of every stage but the first. All labelled batches are there to look at."""

    def working_state(self) -> dict[str, Tensor]:
        """What training has to remember between steps beyond the weights, and the trained model does not need."""
        return {}

    def restore_working_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `working_state` gave."""

    @property
    def class_of_tag(self) -> list[int]:
        """The class of each tag: 0 for O, then the types."""
        numbers = {label: number for number, label in enumerate(self.labels, 1)}
        return [0, *(numbers[tag.partition("-")[2]] for tag in self.tags[1:])]

    @abstractmethod
    def step(self, batch: Batch, progress: float) -> Step:
        """The loss on a labelled batch, at a share of training from 0 to 1. Changes nothing; `Step.finish` does."""

    def forward(self, batch: Batch, progress: float) -> Step:
        """The same as `step`, for wrappers that follow the forward pass."""
        return self.step(batch, progress)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @abstractmethod
    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:
        """What the model makes of a batch, in evaluation or in training mode. Changes nothing.

        Args:
            batch: labels are not looked at.
            like: answer the questions that these answer.
        """

    @abstractmethod
    def predict(self, batch: Batch) -> Prediction:
        """Tags of the batch's words. Changes nothing."""

    @property
    def tokens(self) -> Tokens:
        """From words to sub-words."""
        return self.encoder.tokens

    @property
    def window(self) -> int:
        """The most sub-words of an input that it reads; about the longest that it learnt from."""
        return min(self.reach, self.encoder.window)

    @property
    def at_once(self) -> int | None:
        """The sub-words that are best read together, if any number is: more do not fit into a processor's cache."""
        return CPU_TOKEN_BUDGET if self.device.type == "cpu" else None

    def tag(self, windows: Sequence[Window], *, features: bool = False) -> Tagged:
        """`predict` for whoever knows no tensors, in evaluation mode; training goes on as before.

        Args:
            windows: at least one.
            features: whether those of the words are wanted, too.
        """
        kept: list[Tensor] = []
        hook = self.encoder.register_forward_hook(lambda *call: kept.append(call[-1])) if features else None
        try:
            with inference(self):
                found = self.predict(collate(windows, self.encoder.pad_id).to(self.device))
        finally:
            if hook:
                hook.remove()
        return Tagged(
            found.tags.tolist(),
            found.scores.tolist(),
            None if found.prototype is None else found.prototype.tolist(),
            None if found.margin is None else found.margin.tolist(),
            kept[0].cpu().numpy() if kept else None,
        )

    @property
    def prototype_names(self) -> tuple[str, ...]:
        """What each prototype is called, where the model has any."""
        return ()

    def tag_numbers(self, document: Document) -> list[int]:
        """The tag of each word of a labelled document.

        Raises:
            ValueError: spans share a word.
        """
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        return [numbers[tag] for tag in encode(document.word_spans, document.word_count, self.scheme)]


@contextmanager
def inference(model: Model) -> Iterator[None]:
    """Evaluation mode for a while; training goes on as before."""
    training = model.training
    if training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        if training:
            model.train()
