"""The hold-out phase: the first part of a run, in which some words are held out.

They serve to estimate the share of unlabelled entities; `denoising/estimate.py` has the mathematics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from mproto.denoising.estimate import DEFAULT_SHARE, UnlabelledEstimate, log_odds, type_shares
from mproto.method.prototypes import OTHER
from mproto.models.base import UsesEstimate, inference
from mproto.training.schedule import steps_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mproto.config.settings import Training
    from mproto.models.base import Model
    from mproto.training.data import Data

ONE_OF = 4
"""One distinct word in this many is held out."""
SAMPLE, EXTRA_SAMPLE = 2000, 1000
"""Numbers of windows for the estimate: random ones, and more with a labelled held-out word."""


class HoldOut:
    """The training data of the hold-out phase, and the estimate at its end.

    Args:
        full: the training data after the hold-out phase.
        model: the model to train.
        settings: the settings of the loop.

    Attributes:
        held_out: (V,) bool, the words that are held out, by id.
        data: the training data without these words.
        share: the fraction of the training that is the phase; 0 if humans labelled all documents.
    """

    def __init__(self, full: Data, model: Model, settings: Training) -> None:
        self.full = full
        self.held_out = choose_words(full.words, settings.seed)
        self.data = full.without(self.held_out)
        share = model.hold_out_share if isinstance(model, UsesEstimate) else 0.0
        self.share = 0.0 if all(full.certain) else share
        self._settings = settings

    def steps(self, steps: int) -> int:
        """Return the length of the phase, given the total number of steps; 0 if humans labelled all documents."""
        return steps_within(self.share, steps)

    def finish(self, model: Model) -> dict[str, float]:
        """Estimate the share of unlabelled entities, and pass the estimate to the model.

        With too few labels for an estimate, the model gets the default share.

        Returns:
            The estimate, for the history; empty if there is none.
        """
        assert isinstance(model, UsesEstimate)
        counts, human = self._count(model, certain=False), self._count(model, certain=True)
        if not self.share:
            model.learn_unlabelled(UnlabelledEstimate.of(dict.fromkeys(model.labels, 0.0), 0.0, human))
            return {}
        mentions, size = self._predict(model)
        result = type_shares(log_odds(mentions.log_probabilities, mentions.ids), mentions.classes, size, counts)
        if result is None:
            known = counts[1:] if any(counts[1:]) else human[1:]
            types = {label: DEFAULT_SHARE * n / sum(known) for label, n in zip(model.labels, known, strict=True)}
            model.learn_unlabelled(UnlabelledEstimate.of(types, DEFAULT_SHARE, counts, human))
            return {}
        shares = torch.tensor([result[1], *result[0].tolist()], dtype=torch.float64)
        left_out, *by_type = model.group.broadcast(shares).tolist()
        types = dict(zip(model.labels, by_type, strict=True))
        estimate = UnlabelledEstimate.of(types, left_out, counts, human)
        model.learn_unlabelled(estimate)
        logs = {"unlabelled": estimate.share, "left_out": estimate.left_out, "coverage": estimate.coverage}
        return logs | {f"unlabelled.{label}": share for label, share in types.items()}

    def _count(self, model: Model, *, certain: bool) -> list[int]:
        """Return the number of words of each class, O first, with human labels (`certain`) or distant ones."""
        counts = [0] * (len(model.labels) + 1)
        class_of = model.class_of_tag
        for tags, human in zip(self.full.tags, self.full.certain, strict=True):
            for tag in tags if human == certain else ():
                counts[class_of[tag]] += 1
        return counts

    def _predict(self, model: Model) -> tuple[_Mentions, float]:
        """Return predictions for mentions of held-out words, and the expected number of them without a label."""
        generator = torch.Generator().manual_seed(self._settings.seed)
        order = torch.randperm(len(self.full.windows), generator=generator).tolist()
        order = [i for i in order if not self.full.certain[self.full.windows[i].document]]
        others = [i for i in order[SAMPLE:] if self._has_held_out_label(i)][:EXTRA_SAMPLE]
        class_of = torch.tensor(model.class_of_tag)
        parts: list[_Mentions] = []
        without_label = 0
        with inference(model):
            for chosen, only_labelled in ((order[:SAMPLE], False), (others, True)):
                for indices in self.full.in_order(chosen, self._settings):
                    batch = self.full.batch(indices)
                    assert batch.labels is not None
                    assert batch.words is not None
                    by_tag = model.decide(batch.to(model.device)).answers[0].exp().cpu()
                    by_class = by_tag.new_zeros(len(by_tag), len(model.labels) + 1).index_add_(1, class_of, by_tag)
                    classes = class_of[batch.labels]
                    selected = self.held_out[batch.words] & (classes != OTHER if only_labelled else True)
                    parts.append(_Mentions(by_class.log(), classes, batch.words).only(selected))
                    without_label += 0 if only_labelled else int((classes == OTHER).sum())
        return _Mentions(*(torch.cat(values) for values in zip(*parts, strict=True))), without_label / ONE_OF

    def _has_held_out_label(self, index: int) -> bool:
        window = self.full.windows[index]
        words = self.full.words[window.document][window.start : window.start + len(window.firsts)]
        labelled = [word for tag, word in zip(self.full.own_tags(index), words, strict=True) if tag]
        return bool(self.held_out[labelled].any())


def choose_words(words: Sequence[Sequence[int]], seed: int) -> Tensor:
    """Choose one word in four, (V,) bool, among frequent and rare ones alike.

    Args:
        words: the id of every word, by document and position.
        seed: random seed.
    """
    counts = torch.bincount(torch.tensor([number for ids in words for number in ids], dtype=torch.long))
    order = counts.argsort(descending=True, stable=True)
    generator = torch.Generator().manual_seed(seed)
    first = torch.arange(0, len(order), ONE_OF)
    chosen = first + torch.randint(ONE_OF, (len(first),), generator=generator)
    held_out = torch.zeros(len(order), dtype=torch.bool)
    held_out[order[chosen[chosen < len(order)]]] = True
    return held_out


class _Mentions(NamedTuple):
    """N mentions of held-out words.

    Attributes:
        log_probabilities: (N, K) of the classes.
        classes: (N,) long, their labels.
        ids: (N,) long, the ids of the words.
    """

    log_probabilities: Tensor
    classes: Tensor
    ids: Tensor

    def only(self, rows: Tensor) -> _Mentions:
        return _Mentions(*(values[rows] for values in self))
