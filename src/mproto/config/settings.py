"""All settings of a training run: descriptions, defaults and ranges. Presets in `presets/*.toml` change some of them.

A setting is called `section.key`, both in TOML files and in `--set section.key=value`.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 (types of settings are resolved at run time)
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple


class Range(NamedTuple):
    """The valid values of a number.

    Attributes:
        low: the lower limit.
        high: the upper limit, or None for no limit.
        exclusive: whether the limits themselves are invalid.
    """

    low: float
    high: float | None = None
    exclusive: bool = False

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, int | float)
        if self.exclusive:
            return self.low < value and (self.high is None or value < self.high)
        return self.low <= value and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low}"
        if self.exclusive:
            return f"above {self.low} and below {self.high}"
        return f"from {self.low} to {self.high}"


def number(default: Any, low: float, high: float | None = None, *, exclusive: bool = False) -> Any:
    """Declare a numeric setting with a valid range."""
    return field(default=default, metadata={"range": Range(low, high, exclusive)})


@dataclass(frozen=True)
class Training:
    """The training loop, the same for every method.

    Attributes:
        epochs: passes over the training data; fractions are allowed. `auto` chooses the number of steps by the size of the
            data: small data get more epochs.
        min_steps: minimum number of steps; overrides `epochs` if the data are small.
        minutes: shorten the training so that it takes about this many minutes; 0 for no limit.
        cross_fitting: number of rounds of cross-fitting before the training of the model that is kept; each learns the
            labels that the round before has decided on. 0 trains on the labels as they are. `auto` is 2 for `mproto` with
            `denoising` = `relabel`, and 0 for other methods.
        batch_size: maximum number of sentences in a batch; it is full when this or `token_budget` is reached.
        token_budget: maximum number of sub-words in a batch, padding included; a longer sentence is its own batch.
        learning_rate: peak learning rate of AdamW; it falls linearly to 0 after warm-up.
        warmup: length of the warm-up: a number of steps, or a fraction of the steps if below 1.
        evaluate_every: steps between two evaluations; 0 evaluates once per epoch, and at least four times per run.
            Without development data, an evaluation only saves the model so far.
        selection: which weights to keep: `dev`, the checkpoint with the best F1 on the development data; `last`, the
            final ones, averaged; `auto` is `dev` with development data and `last` without.
        average: with `selection` = `last`, average the weights over this final fraction of the training steps.
        checkpoint_minutes: minutes between two checkpoints; 0 writes one after every step.
        seed: random seed.
        device: `auto` (a GPU if there is one), `cpu`, `cuda` or `cuda:N`.
        precision: the encoder's number format in training: `float32`, `bfloat16`, or `auto` (bfloat16 on GPUs with it).
    """

    epochs: float | Literal["auto"] = number("auto", 0, 1e6)
    min_steps: int = number(0, 0)
    minutes: float = number(0.0, 0)
    cross_fitting: int | Literal["auto"] = number("auto", 0, 10)
    batch_size: int = number(32, 1)
    token_budget: int = number(4096, 1)
    learning_rate: float = number(1e-4, 0)
    warmup: float = number(0.1, 0)
    evaluate_every: int = number(0, 0)
    selection: Literal["auto", "dev", "last"] = "auto"
    average: float = number(0.2, 0, 1)
    checkpoint_minutes: float = number(5.0, 0)
    seed: int = 0
    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"


@dataclass(frozen=True)
class MProto:
    """The multi-prototype network.

    Attributes:
        prototypes: M, the number of prototypes of each class.
        init: initial prototypes: `kmeans` clusters the features of each class; `random` draws directions (the paper).
        prototype_update: how prototypes follow the mean feature of their words: `unit` scales mean and prototype to
            unit length; `raw` scales neither (the paper's text); `published` is like `unit`, but uses only words for
            which the model predicts their label (the paper's code).
        alpha: α, the fraction of a prototype that is kept in an update.
        denoising: how to find unlabelled entities among the words labelled O: `relabel` decides before training which
            labels to learn (`training.cross_fitting`); `transport` is the paper's denoised optimal transport, in every
            step; `threshold` compares their entity probability with a threshold in every step; `none` trusts all labels.
        denoise_after: fraction of the training steps after which the model's own predictions are used for denoising;
            until then, only the neighbour prior is used (with `threshold`). With `beta` = `auto` it is also the length
            of the hold-out phase, in which a quarter of the vocabulary is held out.
        beta: β, the fraction of O words to learn as O, for `transport` and `threshold`. `auto` estimates it at the end
            of the hold-out phase: 0.5 to 1, in practice about 0.9. The paper's 0.01 works only where its Sinkhorn
            iterations stop before they converge.
        labelled_share: labelled words account for at least this share of the total loss weight; if they are fewer, they
            are weighted up. 0 weights all words equally.
        temperature: τ, divides the similarities in every softmax; the paper uses none (1).
        merge_prototypes: compute the loss over classes: the softmax adds up the prototypes of each class; the paper
            computes it over prototypes.
        compactness: λᶜ, the weight of the compactness loss.
        viterbi: predict the words of a sentence jointly, with transition scores counted on the training labels.
    """

    prototypes: int = number(3, 1)
    init: Literal["kmeans", "random"] = "kmeans"
    prototype_update: Literal["unit", "raw", "published"] = "unit"
    alpha: float = number(0.9, 0, 1)
    denoising: Literal["none", "relabel", "transport", "threshold"] = "relabel"
    denoise_after: float = number(0.2, 0, 1)
    beta: float | Literal["auto"] = number("auto", 0, 1)
    labelled_share: float = number(0.2, 0, 0.99)
    temperature: float = number(0.05, 1e-3)
    merge_prototypes: bool = True
    compactness: float = number(0.05, 0)
    viterbi: bool = True


@dataclass(frozen=True)
class EarlyStopping:
    """The plain tagger, stopped early.

    Attributes:
        share: fraction of the usual number of steps to train for.
    """

    share: float = number(0.3, 0, 1)


@dataclass(frozen=True)
class NegativeSampling:
    """Negative sampling on words (`negative-sampling`) and on spans (`negative-sampling-span`).

    Attributes:
        keep: probability that an O word is used in a step, of `negative-sampling`.
    """

    keep: float = number(0.3, 0, 1)


@dataclass(frozen=True)
class PositiveUnlabelled:
    """Positive-unlabelled learning: mpn, mpu and conf-mpu.

    Attributes:
        priors: π, the share of all words that belong to entities of each type; `auto` estimates them. Set one per type:
            `positive_unlabelled.priors.Chemical=0.05`.
        weight: m, the weight of labelled words.
    """

    priors: Mapping[str, float] | Literal["auto"] = number("auto", 0, 1, exclusive=True)
    weight: float = number(15.0, 0)


@dataclass(frozen=True)
class AutoNER:
    """AutoNER: tie or break neighbouring words, then give the pieces a type.

    Attributes:
        phrases: file of additional terms of unknown type; empty for none.
    """

    phrases: str = ""


@dataclass(frozen=True)
class SelfTraining:
    """BOND's second stage, on top of any other method.

    Attributes:
        teacher: the method that is trained first.
        share: fraction of all steps that is self-training.
        confidence: minimum probability of a word's most likely class in the sharpened target; other words are skipped.
    """

    teacher: str = "tagger"
    share: float = number(0.5, 0, 1, exclusive=True)
    confidence: float = number(0.9, 0, 0.999)
