"""Every setting of a training run, with its default and the values it may have. What presets change is in `presets/*.toml`.

A setting is named `section.key`, in a TOML file and in `--set`; `config.py` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 (the kinds of settings are looked up at run time)
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple


class Range(NamedTuple):
    """Which values a number may have.

    Attributes:
        least, most: the ends; none for no end.
        inside: whether the ends themselves are wrong.
    """

    least: float
    most: float | None = None
    inside: bool = False

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, int | float)
        if self.inside:
            return self.least < value and (self.most is None or value < self.most)
        return self.least <= value and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        if self.inside:
            return f"above {self.least} and below {self.most}"
        return f"from {self.least} to {self.most}"


def number(default: Any, least: float, most: float | None = None, *, inside: bool = False) -> Any:
    """A setting that is a number within a range."""
    return field(default=default, metadata={"range": Range(least, most, inside)})


@dataclass(frozen=True)
class Training:
    """The loop, the same for every method.

    Attributes:
        epochs: passes over the training data; may be a fraction.
        min_steps: at least so many steps, however small the data.
        batch_size: most sentences of a batch.
        token_budget: most sub-words of a batch, filling included.
        learning_rate: the highest, after warm-up; it then falls linearly to 0. Methods with stages do that in each.
        weight_decay: of AdamW.
        warmup: how long the learning rate rises: a number of steps, or below 1 a share of the stage's steps.
        max_gradient_norm: gradients longer than this are shortened to it.
        evaluate_every: steps between two evaluations; 0 for once an epoch, or four times in a shorter run. Stages whose
            weights cannot be kept, such as a model that only helps another, are not evaluated.
        selection: which weights to end with, `gold`, `last`, `noisy` or `held-out` (see training/selection.py); `auto` is
            `gold` where there are development data, and `last` where there are none.
        average: of `last`, the share of training at its end over which weights are averaged.
        checkpoint_minutes: time between two checkpoints; 0 for one after every step.
        seed: of everything random.
        device: `auto` for the GPU where there is one, or `cpu`, `cuda`, `cuda:N`.
        precision: of the encoder in training, `float32` or `bfloat16`; `auto` is the latter on GPUs that have it. Processors
            that have it train in three fifths of the time with it, too.
    """

    epochs: float = number(2.0, 0, 1e6)
    min_steps: int = number(150, 0)
    batch_size: int = number(32, 1)
    token_budget: int = number(4096, 1)
    learning_rate: float = number(1e-4, 0)
    weight_decay: float = number(1e-4, 0)
    warmup: float = number(0.1, 0)
    max_gradient_norm: float = number(1.0, 0)
    evaluate_every: int = number(0, 0)
    selection: Literal["auto", "gold", "last", "noisy", "held-out"] = "auto"
    average: float = number(0.2, 0, 1)
    checkpoint_minutes: float = number(5.0, 0)
    seed: int = 0
    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"


@dataclass(frozen=True)
class MProto:
    """The multi-prototype network.

    Attributes:
        prototypes: M, of each class.
        start: prototypes at first: `kmeans`, centres of the features of each class's words, or `random`, as in the paper.
        alpha: α, how much of a prototype stays when it is updated.
        unit_features: bring the mean feature to length one before it is mixed into a prototype; the paper does not.
        only_correct: update with words alone whose predicted class is their label; the paper does not, its code does.
        denoise: whether O words go through denoised transport.
        denoise_after: the share of training that passes before that begins.
        beta: β, the share of O words expected at O prototypes; `auto` to estimate it when denoising begins.
        shared_doubt: how much of a word's similarities, in denoised transport, is the mean of all its mentions so far; 0 lets
            each mention speak for itself, as in the paper.
        kin: of `threshold`, how much of a word's doubt is the share of those words that are labelled which mean alike, as the
            encoder tells before training; 0 asks the word's own mentions alone. `auto` for as much as kin explain of which
            words are labelled: much where terms are names.
        price: what leaving out an O word costs, if learning an entity as O costs 1, for the estimate of β.
        labelled_share: the least share of the losses that labelled words make up together, however few they are; 0 weighs
            all words alike, as in the paper, and so does a step of sentences that people labelled.
        solver: of denoised transport: `threshold` leaves open how many O words each entity prototype takes, and the most
            doubtful are left out, as many as β says at least; `sinkhorn`, cut off after `iterations`, is the paper's; or
            `converged`.
        epsilon: λʳ, the weight of the entropy.
        iterations: of `sinkhorn`; with `threshold` too, for the words of each class.
        temperature: τ, which similarities are divided by in the cross-entropy; the paper has none (1).
        learn_temperature: let training move it.
        merge: cross-entropy over classes, same-class prototypes merged; the paper's is over prototypes.
        compactness: λᶜ, the weight of the compactness loss.
        together: choose the classes of a sentence's words together, so that entities are runs of words; the paper does not.
        dropout: on the features, in training.
    """

    prototypes: int = number(3, 1)
    start: Literal["kmeans", "random"] = "kmeans"
    alpha: float = number(0.9, 0, 1)
    unit_features: bool = True
    only_correct: bool = False
    denoise: bool = True
    denoise_after: float = number(0.2, 0, 1)
    beta: float | Literal["auto"] = number("auto", 0, 1)
    shared_doubt: float = number(0.75, 0, 1)
    kin: float | Literal["auto"] = number("auto", 0, 1)
    price: float = number(0.15, 0.01, 1)
    labelled_share: float = number(0.2, 0, 0.99)
    solver: Literal["threshold", "sinkhorn", "converged"] = "threshold"
    epsilon: float = number(0.001, 1e-6)
    iterations: int = number(100, 1)
    temperature: float = number(0.05, 1e-3)
    learn_temperature: bool = False
    merge: bool = True
    compactness: float = number(0.05, 0)
    together: bool = True
    dropout: float = number(0.1, 0, 0.99)


@dataclass(frozen=True)
class Tagger:
    """A linear layer on the features, trained with plain cross-entropy.

    Attributes:
        scheme: of its tags.
        dropout: on the features, in training; of the other baselines too.
    """

    scheme: Literal["bio", "io"] = "bio"
    dropout: float = number(0.1, 0, 0.99)


@dataclass(frozen=True)
class EarlyStopping:
    """The tagger, stopped before it learns the gaps by heart.

    Attributes:
        share: of the usual steps that are taken.
    """

    share: float = number(0.3, 0, 1)


@dataclass(frozen=True)
class NegativeSampling:
    """The tagger, which sees some of the O words only; and the form that classifies spans (`negative-sampling-span`).

    Attributes:
        keep: the chance of an O word to take part in a step.
        ratio: λ of the span form: int(λn) + 1 unlabelled spans of a sentence of n words take part in a step.
        longest: words of the longest span that it looks at when it predicts.
        hidden: width of its hidden layer.
    """

    keep: float = number(0.3, 0, 1)
    ratio: float = number(0.35, 0)
    longest: int = number(16, 1)
    hidden: int = number(256, 1)


@dataclass(frozen=True)
class PositiveUnlabelled:
    """Positive-unlabelled learning: mpn, mpu, conf-mpu.

    Attributes:
        priors: π, the share of all words that are words of each type's entities; `auto` to estimate them at first.
        weight: m, how much labelled words count.
        eta: η of conf-mpu, the confidence from which on a word counts as an entity's.
        confidence_share: the share of conf-mpu's training that goes to the model of that confidence.
        rehearsal_share: the share of training that goes to estimating the priors.
    """

    priors: Mapping[str, float] | Literal["auto"] = number("auto", 0, 1, inside=True)
    weight: float = number(15.0, 0)
    eta: float = number(0.5, 0, 1, inside=True)
    confidence_share: float = number(0.33, 0, 1, inside=True)
    rehearsal_share: float = number(0.2, 0, 1, inside=True)


@dataclass(frozen=True)
class AutoNER:
    """Neighbouring words tied to each other or not, and types for what is tied.

    Attributes:
        phrases: a file of further terms, whose type is not known; empty for none.
        hidden: width of its hidden layers.
    """

    phrases: str = ""
    hidden: int = number(256, 1)


@dataclass(frozen=True)
class SelfTraining:
    """BOND's second stage, on top of any other method.

    Attributes:
        on: the method that comes first.
        share: of all steps, those of self-training; the other method has the rest, or as much of it as it wants.
        refresh: steps until the teacher is replaced by its student.
        confidence: the share of the sharpened target that one class must have for a word to count. Sharpening raises rare
            classes, so that class need not be the teacher's first choice.
    """

    on: str = "tagger"
    share: float = number(0.5, 0, 1, inside=True)
    refresh: int = number(50, 1)
    confidence: float = number(0.9, 0, 0.999)
