"""Self-training on top of any method: after the method has been trained, the model learns its own confident predictions.

Stage II of BOND: Liang et al., *BOND: BERT-Assisted Open-Domain Named Entity Recognition with Distant Supervision* (KDD
2020). The teacher is a copy of the student from some steps ago. The student learns the confident predictions of the
teacher, sharpened (`soft_labels.py`). The labels of the dictionary are no longer used.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import torch
from torch import nn

from mproto.errors import InputError
from mproto.models.base import Decisions, Model, Prediction, Preview, Stage, Step, UsesEstimate
from mproto.models.baselines.soft_labels import soft_cross_entropy, soft_targets
from mproto.models.process_group import SINGLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor

    from mproto.config import Config
    from mproto.config.settings import SelfTraining
    from mproto.denoising.estimate import UnlabelledEstimate
    from mproto.models.batch import Batch
    from mproto.models.encoder import Encoder
    from mproto.text.document import Document

NAME = "self-training"
REFRESH = 50
"""Steps after which the student replaces the teacher."""


class SelfTrainingModel(Model, UsesEstimate):
    """The student, a model of another method; in the last stage also its teacher.

    Args:
        student: a model of any other method.
        settings: the settings of self-training.
    """

    def __init__(self, student: Model, settings: SelfTraining) -> None:
        nn.Module.__init__(self)  # not that of Model: the encoder belongs to the student
        self.student, self.settings = student, settings
        self.labels, self.scheme, self.tags = student.labels, student.scheme, student.tags
        self._teacher: tuple[Model, ...] = ()  # in a tuple, so that its weights do not count as this model's
        self._steps_taught = 0

    @classmethod
    def build(cls, encoder: Encoder, labels: Iterable[str], config: Config) -> Model:
        from mproto.models.registry import get_method

        settings = config.self_training
        if settings.teacher == NAME:
            raise InputError(f"self_training.teacher is {NAME}, which cannot teach itself", hint="name another method")
        try:
            method = get_method(settings.teacher)
        except InputError as error:
            raise InputError(f"self_training.teacher: {error.message}", hint=error.hint) from None
        return cls(method.build(encoder, labels, config), settings)

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return self.student.encoder

    @property
    def by_word(self) -> bool:  # type: ignore[override]
        return self.student.by_word

    @property
    def cross_fitting_rounds(self) -> int:  # type: ignore[override]
        return self.student.cross_fitting_rounds

    @property
    def max_length(self) -> int:
        return self.student.max_length

    @max_length.setter
    def max_length(self, value: int) -> None:
        self.student.max_length = value

    @property
    def calibration(self) -> float:
        return self.student.calibration

    @calibration.setter
    def calibration(self, value: float) -> None:
        self.student.calibration = value

    @property
    def entity_bias(self) -> float:
        return self.student.entity_bias

    @entity_bias.setter
    def entity_bias(self, value: float) -> None:
        self.student.entity_bias = value

    @property
    def prototype_names(self) -> tuple[str, ...]:
        return self.student.prototype_names

    def tag_numbers(self, document: Document) -> list[int]:
        return self.student.tag_numbers(document)

    @property
    def stages(self) -> tuple[Stage, ...]:
        before = (stage._replace(share=stage.share * (1 - self.settings.share)) for stage in self.student.stages)
        return (*before, Stage(self.settings.share))

    @property
    def _is_first(self) -> bool:
        """Whether the other method is still being trained."""
        return self.stage < len(self.student.stages)

    def _synced_student(self) -> Model:
        self.student.group, self.student.stage = self.group, self.stage
        return self.student

    def prepare(self, preview: Preview) -> None:
        self._synced_student().prepare(preview)

    @property
    def hold_out_share(self) -> float:
        if not isinstance(self.student, UsesEstimate):
            return 0.0
        return self.student.hold_out_share * (1 - self.settings.share)

    def learn_unlabelled(self, estimate: UnlabelledEstimate) -> None:
        if isinstance(self.student, UsesEstimate):
            self.student.learn_unlabelled(estimate)

    def after_averaging(self) -> None:
        self.student.after_averaging()

    def begin(self, batches: Iterable[Batch]) -> None:
        if self._is_first:
            self._synced_student().begin(batches)
        else:
            self._make_teacher()

    def _make_teacher(self) -> None:
        self.student.group = SINGLE  # a process group cannot be copied
        self._teacher = (deepcopy(self.student).eval().requires_grad_(requires_grad=False),)

    def step(self, batch: Batch, progress: float) -> Step:
        if self._is_first:
            return self._synced_student().step(batch, progress / (1 - self.settings.share))
        (teacher,) = self._teacher
        with torch.no_grad():
            taught = teacher.decide(batch)
        answered = self._synced_student().decide(batch, taught)
        loss, sure, total = torch.zeros((), device=self.device), 0, 0
        for answers, predicted in zip(answered.answers, taught.answers, strict=True):
            targets = soft_targets(predicted.exp(), self.group.sum)
            kept = targets.amax(-1) > self.settings.confidence
            loss = loss + soft_cross_entropy(answers[kept], targets[kept])
            sure, total = sure + int(kept.sum()), total + len(kept)
        all_sure, all_total = self.group.sum(torch.tensor([sure, total])).tolist()
        return Step(loss / max(sure, 1), sure, {"sure": all_sure / max(all_total, 1)}, self._after_step)

    def _after_step(self) -> None:
        self._steps_taught += 1
        if self._steps_taught % REFRESH == 0:
            self._teacher[0].load_state_dict(self.student.state_dict())

    def decide(self, batch: Batch, like: Decisions | None = None) -> Decisions:
        return self.student.decide(batch, like)

    def predict(self, batch: Batch) -> Prediction:
        return self.student.predict(batch)

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
        else:
            self._teacher, self._steps_taught = (), 0
