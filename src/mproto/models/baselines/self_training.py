"""Self-training on top of any method: when that is done, the model goes on learning from what it is sure of itself.

Stage II of BOND (Liang et al. 2020): a teacher, which is the student of some steps ago, answers for every word; what it is
sure of, made sharper (`method/soft_labels.py`), is what the student learns. The dictionary's labels are not looked at again.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import torch
from torch import nn

from mproto.errors import InputError
from mproto.models.base import Decisions, Model, Prediction, Stage, Step
from mproto.models.baselines.soft_labels import soft_cross_entropy, soft_targets
from mproto.models.process_group import ALONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import SelfTraining
    from mproto.denoising.estimate import Shares
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.document import Document

NAME = "self-training"


class SelfTrainingModel(Model):
    """A model of another method, the student, and in the second stage its teacher.

    Args:
        student: a model of any other method.
        settings: of the second stage.
    """

    def __init__(self, student: Model, settings: SelfTraining) -> None:
        nn.Module.__init__(self)  # and not Model's: the encoder is the student's
        self.student, self.settings = student, settings
        self.labels, self.scheme, self.tags = student.labels, student.scheme, student.tags
        self._teacher: tuple[Model, ...] = ()  # in a tuple, so that its weights are not this model's
        self._steps_taught = 0

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        from mproto.models.registry import get_method

        settings = config.self_training
        if settings.on == NAME:
            raise InputError(f"self_training.on is {NAME}: it cannot come first itself", hint="name another method")
        try:
            below = get_method(settings.on)
        except InputError as error:
            raise InputError(f"self_training.on: {error.message}", hint=error.hint) from None
        return cls(below.build(encoder, labels, config), settings)

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return self.student.encoder

    @property
    def by_word(self) -> bool:  # type: ignore[override]
        return self.student.by_word

    @property
    def price(self) -> float:  # type: ignore[override]
        return self.student.price

    @property
    def reach(self) -> int:
        return self.student.reach

    @reach.setter
    def reach(self, value: int) -> None:
        self.student.reach = value

    @property
    def calibration(self) -> float:
        return self.student.calibration

    @calibration.setter
    def calibration(self, value: float) -> None:
        self.student.calibration = value

    @property
    def stages(self) -> tuple[Stage, ...]:
        before = (stage._replace(share=stage.share * (1 - self.settings.share)) for stage in self.student.stages)
        return (*before, Stage(self.settings.share))

    @property
    def rehearsal_share(self) -> float:
        return self.student.rehearsal_share * (1 - self.settings.share)

    @property
    def _is_first(self) -> bool:
        return self.stage < len(self.student.stages)

    def _led(self) -> Model:
        """The student, told where and when it is."""
        self.student.group, self.student.stage = self.group, self.stage
        return self.student

    def start(self, batches: Iterator[Batch], generator: torch.Generator) -> None:
        self._led().start(batches, generator)

    def learn_order(self, tags: Iterable[Sequence[int]]) -> None:
        self.student.learn_order(tags)

    def learn_words(self, words: Sequence[str], labelled: Sequence[float]) -> None:
        self._led().learn_words(words, labelled)

    def learn_unlabelled(self, shares: Shares) -> None:
        self.student.learn_unlabelled(shares)

    def begin(self, batches: Iterable[Batch]) -> None:
        if self._is_first:
            self._led().begin(batches)
        else:
            self.student.restore_working_state({})  # which has served its purpose
            self._make_teacher()

    def _make_teacher(self) -> None:
        self.student.group = ALONE  # which a copy must not copy
        self._teacher = (deepcopy(self.student).eval().requires_grad_(requires_grad=False),)

    def step(self, batch: Batch, progress: float) -> Step:
        if self._is_first:
            return self._led().step(batch, progress / (1 - self.settings.share))
        (teacher,) = self._teacher
        with torch.no_grad():
            taught = teacher.decide(batch)
        answered = self._led().decide(batch, taught)
        loss, sure, asked = torch.zeros((), device=self.device), 0, 0
        for answers, right in zip(answered.answers, taught.answers, strict=True):
            targets = soft_targets(right.exp(), self.group.sum)
            kept = targets.amax(-1) > self.settings.confidence
            loss = loss + soft_cross_entropy(answers[kept], targets[kept])
            sure, asked = sure + int(kept.sum()), asked + len(kept)
        every_sure, every_asked = self.group.sum(torch.tensor([sure, asked])).tolist()
        return Step(loss / max(sure, 1), sure, {"sure": every_sure / max(every_asked, 1)}, self._after)

    def _after(self) -> None:
        self._steps_taught += 1
        if self._steps_taught % self.settings.refresh == 0:
            self._teacher[0].load_state_dict(self.student.state_dict())

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:
        return self.student.decide(batch, like)

    def predict(self, batch: Batch) -> Prediction:
        return self.student.predict(batch)

    @property
    def prototype_names(self) -> tuple[str, ...]:
        return self.student.prototype_names

    def tag_numbers(self, document: Document) -> list[int]:
        return self.student.tag_numbers(document)

    def working_state(self) -> dict[str, Tensor]:
        tensors = {f"student.{name}": value for name, value in self.student.working_state().items()}
        for teacher in self._teacher:
            tensors |= {f"teacher.{name}": value for name, value in teacher.state_dict().items()}
            tensors["steps_taught"] = torch.tensor(self._steps_taught)
        return tensors

    def restore_working_state(self, tensors: Mapping[str, Tensor]) -> None:
        parts: dict[str, dict[str, Tensor]] = {"student": {}, "teacher": {}}
        for name, value in tensors.items():
            kind, _, rest = name.partition(".")
            parts.setdefault(kind, {})[rest] = value
        self.student.restore_working_state(parts["student"])
        if parts["teacher"]:
            self._make_teacher()
            self._teacher[0].load_state_dict(parts["teacher"])
            self._steps_taught = int(tensors["steps_taught"])
