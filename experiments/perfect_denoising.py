"""Perfect denoising: a model that never learns from unlabelled entity words.

The human labels of train tell which words those are. The score on development data is an upper
bound for what leaving words out can gain. `limits` shows it. The cells have different weights of
labelled words (`mproto.labelled_share`), in tenths.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from experiments import systems
from experiments.cells import Cell, changed_settings, documents, once, score_on, show_progress
from mproto import Recognizer
from mproto.config import load_config
from mproto.models.batch import only_words
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.training.data import Data, label_set
from mproto.training.loop import Loop
from mproto.training.selection import Average

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mproto.models.base import Step
    from mproto.models.batch import Batch

LEFT_OUT = -1
"""The label of words that the model never learns from."""


class PerfectDenoising(MProtoModel):
    def start(self, batches: Iterator[Batch], generator: torch.Generator) -> None:
        super().start(map(_without, batches), generator)

    def learn_order(self, tags: Iterable[Sequence[int]]) -> None:
        """Count transitions in the dictionary's labels, where those words are O."""
        super().learn_order([0 if tag == LEFT_OUT else tag for tag in sentence] for sentence in tags)

    def step(self, batch: Batch, progress: float) -> Step:
        return super().step(_without(batch), progress)


def _without(batch: Batch) -> Batch:
    assert batch.labels is not None
    return only_words(batch, batch.labels != LEFT_OUT)


def cell_name(data: str, tenths: int) -> str:
    return f"perfect_denoising/{data}-{tenths}"


def cell(data: str, tenths: int) -> Cell:
    return once(cell_name(data, tenths), lambda: _run(data, tenths))


def _run(data: str, tenths: int) -> Cell:
    settings = [*systems.budget(data, 1), "mproto.denoising=none", f"mproto.labelled_share={tenths / 10}"]
    config = load_config(settings=settings)
    torch.manual_seed(config.training.seed)
    corpus = documents(data, "train")
    encoder = Encoder.load(config.encoder, shapes=config.word_shapes)
    model = PerfectDenoising.build(encoder, label_set(corpus), config)
    human = [model.tag_numbers(document) for document in systems.with_human_labels(corpus)]
    distant = Data.of(corpus, model)
    tags = [
        [LEFT_OUT if not tag and true else tag for tag, true in zip(*both, strict=True)]
        for both in zip(distant.tags, human, strict=True)
    ]
    loop = Loop(model, replace(distant, tags=tags), config.training, Average(config.training.average))
    loop.start()
    for progress in loop.run():
        show_progress(f"perfect denoising {data} {tenths}", progress)
    return {"settings": changed_settings(config), "dev": score_on(documents(data, "dev"), Recognizer(model, config))}
