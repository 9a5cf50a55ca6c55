"""The interface between a model, the training loop and the recogniser."""

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
from mproto.models.process_group import SINGLE, ProcessGroup
from mproto.text.tagging import OUTSIDE, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from torch import Tensor

    from mproto.config import Config
    from mproto.denoising.estimate import UnlabelledEstimate
    from mproto.encoding.tokens import Tokens
    from mproto.encoding.windows import Window
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.document import Document
    from mproto.text.tagging import OutputScheme


@dataclass(frozen=True, eq=False)
class Step:
    """The result of the forward pass of a training step.

    Attributes:
        loss: a scalar with a graph, the mean over `weight` words. For losses that are not means over words, each process
            returns its part of the loss times the number of processes, and a weight of 1.
        weight: see `loss`.
        logs: values for the history.
        finish: updates other state, such as prototypes. Only the loop calls it, after the optimiser.
    """

    loss: Tensor
    weight: float
    logs: dict[str, float] = field(default_factory=dict)
    finish: Callable[[], None] = lambda: None


class Stage(NamedTuple):
    """A part of the training with its own optimiser and learning rate schedule.

    Attributes:
        share: number of steps, relative to the usual length of a run. Training is shorter or longer if the shares of a
            model do not sum to 1.
        counts: whether weights of this stage may be kept at the end.
        most: maximum number of steps, or None for no limit.
    """

    share: float
    counts: bool = True
    most: int | None = None


class Prediction(NamedTuple):
    """The prediction for the W words of a batch.

    Attributes:
        tags: (W,) long.
        scores: (W,) from 0 to 1, the confidence in each tag.
        prototype: (W,) long, the nearest prototype of the predicted class, if the model has prototypes.
        margin: (W,) its similarity minus that of the nearest prototype of any other class. It can be negative if
            neighbouring words determined the class.
    """

    tags: Tensor
    scores: Tensor
    prototype: Tensor | None = None
    margin: Tensor | None = None


class Decisions(NamedTuple):
    """Log-probabilities of all decisions of a model about a batch, with a graph.

    Attributes:
        answers: (N, C) log-probabilities, one tensor for each kind of decision. Most models have one kind, the tag of
            each word: (W, T).
        about: the objects of the decisions, such as spans, if they depend on earlier decisions.
    """

    answers: tuple[Tensor, ...]
    about: Any = None


class Preview(NamedTuple):
    """The training data as a model sees it before the first step.

    Attributes:
        tags: of all words, by document.
        words: a spelling of each distinct word, by id; `denoising/word_ids.py` says which spellings share an id.
        labelled: the share of each distinct word's mentions that is labelled as an entity.
        batches: a sample of labelled batches.
        generator: random generator of the CPU.
    """

    tags: Sequence[Sequence[int]]
    words: Sequence[str]
    labelled: Sequence[float]
    batches: Iterator[Batch]
    generator: torch.Generator


MIN_MAX_LENGTH = 128
"""The smallest `Model.max_length`, however short the training sentences are."""


class Model(nn.Module, ABC):
    """An encoder and a way to tag words.

    A method implements `build`, `step`, `decide` and `predict`; everything else has a default.

    Attributes:
        encoder: maps words to features.
        labels: the entity types.
        scheme: the tagging scheme.
        tags: `O`, then the tags of the types.
        group: the process group that trains the model.
        stage: number of the current training stage; set by the loop. It is negative during cross-fitting.
        cross_fitting_rounds: default number of rounds of cross-fitting before training; 0 for none.
        calibration: temperature of the scores; it changes no decision.
        entity_bias: added to the log-probabilities of all classes but O, before decisions.
        by_word: whether `decide` returns the tag of each word.
        max_length: number of sub-words that nearly all training inputs do not exceed.
        reports_state: whether the report on a finished run uses the working state.
    """

    max_length: int = MIN_MAX_LENGTH
    calibration: float = 1.0
    entity_bias: float = 0.0
    by_word: bool = True
    reports_state: bool = False
    cross_fitting_rounds: int = 0
    group: ProcessGroup = SINGLE
    stage: int = 0

    def __init__(self, encoder: Encoder, labels: Iterable[str], scheme: OutputScheme = "io") -> None:
        super().__init__()
        self.encoder = encoder
        self.labels = tuple(labels)
        self.scheme = scheme
        prefixes = "I" if scheme == "io" else "BI"
        self.tags = (OUTSIDE, *(f"{prefix}-{label}" for label in self.labels for prefix in prefixes))

    @classmethod
    @abstractmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        """Return a new, untrained model."""

    @abstractmethod
    def step(self, batch: Batch, progress: float) -> Step:
        """Return the loss on a labelled batch, without changing any state; `Step.finish` does that.

        Args:
            batch: a batch with labels.
            progress: fraction of the training that is done.
        """

    @abstractmethod
    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:
        """Return log-probabilities for a batch, in either mode, without changing any state.

        Args:
            batch: a batch; its labels are ignored.
            like: other decisions; decide about the same objects.
        """

    @abstractmethod
    def predict(self, batch: Batch) -> Prediction:
        """Predict the tags of a batch, without changing any state."""

    def prepare(self, preview: Preview) -> None:
        """Initialise the model from the training data, before the first step changes the encoder."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of training; most models have one."""
        return (Stage(1.0),)

    def begin(self, batches: Iterable[Batch]) -> None:
        """Start a stage other than the first.

        Args:
            batches: all training data, labelled.
        """

    def after_averaging(self) -> None:
        """Restore what the mean of several weights does not keep. Called once, when the loop has loaded this mean."""

    def working_state(self) -> dict[str, Tensor]:
        """Return the state between two steps that is not a weight, for checkpoints.

        It includes what `prepare` has learnt: a resumed run does not call `prepare` again.
        """
        return {}

    def restore_working_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `working_state` returned. The tensors are on the CPU."""

    def tag_numbers(self, document: Document) -> list[int]:
        """Return the tag of each word of a labelled document.

        Raises:
            ValueError: spans share a word.
        """
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        return [numbers[tag] for tag in encode(document.word_spans, document.word_count, self.scheme)]

    @property
    def class_of_tag(self) -> list[int]:
        """The class of each tag: 0 for O, then the types."""
        numbers = {label: number for number, label in enumerate(self.labels, 1)}
        return [0, *(numbers[tag.partition("-")[2]] for tag in self.tags[1:])]

    def forward(self, batch: Batch, progress: float) -> Step:
        """Call `step`; for wrappers of the forward pass."""
        return self.step(batch, progress)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    # The interface for the recogniser (`inference.tagger.Tagger`)

    @property
    def encoder_name(self) -> str:
        return self.encoder.name

    @property
    def prototype_names(self) -> tuple[str, ...]:
        """The names of the prototypes, if there are any."""
        return ()

    @property
    def tokens(self) -> Tokens:
        """The tokenizer."""
        return self.encoder.tokens

    @property
    def window(self) -> int:
        """Maximum number of sub-words of an input: about the longest training input."""
        return min(self.max_length, self.encoder.window)

    @property
    def tokens_per_batch(self) -> int | None:
        """The best number of sub-words per batch, if there is one: a CPU is slower beyond the size of its cache."""
        return CPU_TOKEN_BUDGET if self.device.type == "cpu" else None

    def tag(self, windows: Sequence[Window], *, features: bool = False) -> Tagged:
        """Predict in evaluation mode, and return lists. The training mode is restored afterwards.

        Args:
            windows: at least one.
            features: whether to return the features of the words.
        """
        captured: list[Tensor] = []
        hook = self.encoder.register_forward_hook(lambda *call: captured.append(call[-1])) if features else None
        try:
            with inference(self):
                prediction = self.predict(collate(windows, self.encoder.pad_id).to(self.device))
        finally:
            if hook:
                hook.remove()
        return Tagged(
            prediction.tags.tolist(),
            prediction.scores.tolist(),
            None if prediction.prototype is None else prediction.prototype.tolist(),
            None if prediction.margin is None else prediction.margin.tolist(),
            captured[0].cpu().numpy() if captured else None,
        )


class UsesEstimate(ABC):
    """A model that uses an estimate of the share of unlabelled entities.

    Training then starts with a hold-out phase, in which all mentions of some words are left out. At its
    end the share is estimated (`training/hold_out.py`), and training continues with all words.
    """

    @property
    @abstractmethod
    def hold_out_share(self) -> float:
        """The fraction of the training that is the hold-out phase; 0 for none."""

    @abstractmethod
    def learn_unlabelled(self, estimate: UnlabelledEstimate) -> None:
        """Use the estimate from now on."""


def shift_entities(logits: Tensor, bias: float | Tensor) -> Tensor:
    """Return logits (N, K) with a bias added to all classes but O, which is the first."""
    return torch.cat([logits[:, :1], logits[:, 1:] + bias], -1)


@contextmanager
def inference(model: Model) -> Iterator[None]:
    """Evaluate a model within the block, without gradients; restore its training mode afterwards."""
    training = model.training
    if training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        if training:
            model.train()
