"""How good are the labels that cross-fitting decides on? Compared with the human labels of train.

Only the models of cross-fitting are trained. Their predictions are then relabelled with the constants
of `denoising/relabelling.py`, and with others, which takes no time. This is how these constants were
chosen. The human labels of train serve for this analysis alone.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from experiments.cells import PRECISION, Cell, changed_settings, load, once, show_progress
from experiments.command import run_command
from experiments.development import SETTINGS, load_setting, true_share
from experiments.systems import with_human_labels
from mproto.config import load_config
from mproto.denoising import relabelling
from mproto.denoising.evidence import neighbour_evidence
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.training.cross_fitting import CrossFitting
from mproto.training.data import Data, label_set
from mproto.training.loop import Loop
from mproto.training.selection import Average

if TYPE_CHECKING:
    from torch import Tensor

    from mproto.denoising.relabelling import Relabelled
    from mproto.denoising.shares import EntityShares
    from mproto.models.base import Model

ABOUT, MINUTES = "the labels that cross-fitting decides on, against human labels", 5
ROUNDS = 2
NO_NEIGHBOURS = "no-neighbours"
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    NO_NEIGHBOURS: {},
    "one-fit": {"FITS": 1},
    "three-fits": {"FITS": 3},
    "trust-0.50": {"LABEL_TRUST": 0.5},
    "trust-0.85": {"LABEL_TRUST": 0.85},
}
NOTE = """Span F1 of the labels of the training documents, against human labels: those of the list, and the most likely
ones after one and two rounds of judges. The further columns are those after two rounds without the neighbours
of words, with another number of fits of the regression (`FITS`, 2), or another trust in labels (`LABEL_TRUST`,
0.65). *Left out* is the share of words about which nothing is learnt, and *right* the share of the other
words that have the class that humans gave them, among those that either calls an entity. *Unlabelled* is the
estimated share of O words that are entities, with the 80 % interval and the true share."""


class _Observed(CrossFitting):
    """Keeps the predictions of every round."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.predictions: list[Tensor] = []

    def _relabel(self, predictions: Tensor, model: Model) -> Relabelled:
        self.predictions.append(predictions.clone())
        return super()._relabel(predictions, model)

    def relabelled_with(self, predictions: Tensor, *, neighbours: bool = True, **constants: Any) -> Relabelled:
        """Relabel with other constants, or as if no word had neighbours."""
        words, labels = self._original.flat_words, self._distant
        evidence = self._neighbours if neighbours else neighbour_evidence(None, words, labels, self._classes)
        lengths = self._lengths.tolist()
        with patch.multiple(relabelling, **{"FITS": relabelling.FITS, **constants}):
            return relabelling.relabel(predictions, evidence, labels, words, self.shares, lengths, self._transitions())

    @property
    def shares(self) -> EntityShares:
        assert self._shares is not None
        return self._shares


def cell_name(setting: str, seed: int) -> str:
    return f"relabelled/{setting}-{seed}"


def cells() -> list[str]:
    return [cell_name(setting, 0) for setting in SETTINGS]


def cell(setting: str, seed: int) -> Cell:
    return once(cell_name(setting, seed), lambda: _run(setting, seed))


def _run(setting: str, seed: int) -> Cell:
    corpus, _ = load_setting(setting, seed)
    config = load_config(settings=[f"training.seed={seed}", f"training.cross_fitting={ROUNDS}", PRECISION])
    torch.manual_seed(config.training.seed)
    encoder = Encoder.load(config.encoder, shapes=config.word_shapes)
    encoder.mixed = config.training.precision == "bfloat16"
    model = MProtoModel.build(encoder, label_set(corpus), config)
    data, human = Data.of(corpus, model), Data.of(with_human_labels(corpus), model)
    fitting = _Observed(data, model, config.training, ROUNDS)
    loop = Loop(model, data, config.training, Average(0.0), cross_fitting=fitting)
    loop.start()
    for progress in loop.run():
        show_progress(f"relabelled {setting} {seed}", progress)
        if len(fitting.predictions) == ROUNDS:
            break
    lengths = [len(tags) for tags in data.tags]
    labels, truth = (torch.tensor([tag for tags in one.tags for tag in tags]) for one in (data, human))
    found: Cell = {
        "settings": changed_settings(config),
        "unlabelled": [
            round(value, 4) for value in (fitting.shares.unlabelled, fitting.shares.low, fitting.shares.high)
        ],
        "truly_unlabelled": true_share(corpus),
        "list": _span_scores(labels, truth, lengths),
        "one-round": _scores(fitting.relabelled_with(fitting.predictions[0]), truth, lengths),
    }
    for name, constants in VARIANTS.items():
        after = fitting.relabelled_with(fitting.predictions[-1], neighbours=name != NO_NEIGHBOURS, **constants)
        found[name] = _scores(after, truth, lengths)
    return found


def _scores(found: Relabelled, truth: Tensor, lengths: list[int]) -> Cell:
    learnt = ~found.left_out
    either = learnt & ((found.labels != 0) | (truth != 0))
    return _span_scores(found.labels, truth, lengths) | {
        "left_out": round(found.left_out.float().mean().item(), 4),
        "right": round((found.labels == truth)[either].float().mean().item(), 4),
    }


def _span_scores(found: Tensor, truth: Tensor, lengths: list[int]) -> Cell:
    predicted, gold = _spans(found, lengths), _spans(truth, lengths)
    right = len(predicted & gold)
    return {
        "precision": round(right / max(len(predicted), 1), 4),
        "recall": round(right / max(len(gold), 1), 4),
        "f1": round(2 * right / max(len(predicted) + len(gold), 1), 4),
    }


def _spans(classes: Tensor, lengths: list[int]) -> set[tuple[int, int, int]]:
    """Return the maximal runs of one class, as first word, end and class."""
    starts = {*accumulate(lengths, initial=0)}
    values = classes.tolist()
    borders = [i for i in range(len(values) + 1) if i in starts or values[i] != values[i - 1]]
    return {(start, end, values[start]) for start, end in pairwise(borders) if values[start]}


def render() -> str:
    rows = [
        "| setting | unlabelled (true) | left out | right | list | one round | two rounds | "
        + " | ".join(list(VARIANTS)[1:])
        + " |",
        "|---" * (6 + len(VARIANTS)) + "|",
    ]
    columns = ("list", "one-round", *VARIANTS)
    done = {setting: one for setting in SETTINGS if (one := load(cell_name(setting, 0)))}
    for setting, one in done.items():
        estimate, low, high = (100 * value for value in one["unlabelled"])
        scores = " | ".join(f"{100 * one[column]['f1']:.1f}" for column in columns)
        share = f"{estimate:.1f}, {low:.1f} to {high:.1f} ({100 * one['truly_unlabelled']:.1f})"
        facts = f"{100 * one['default']['left_out']:.1f} | {100 * one['default']['right']:.1f}"
        rows.append(f"| {setting} | {share} | {facts} | {scores} |")
    if done:
        means = (sum(one[column]["f1"] for one in done.values()) / len(done) for column in columns)
        rows.append("| mean | | | | " + " | ".join(f"{100 * mean:.1f}" for mean in means) + " |")
    return "\n".join([*rows, "", NOTE])


def main() -> None:
    run_command(__doc__, "Relabelled words", render, cell, usual={"seed": [0]}, setting=SETTINGS, seed=(0, 1, 2))


if __name__ == "__main__":
    main()
