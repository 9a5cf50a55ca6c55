"""How good denoising could be: every unlabelled entity word is left out, and no other.

    python -m experiments.perfect_denoising [--data conll03-1.0] [--shares 0 2]

Human labels of train say which. What such a model scores on development data is what leaving words out can give; what is
missing to a fully supervised model is not the fault of words that were learnt as O. Shares are those of labelled words in a
step (`mproto.labelled_share`), in tenths. Needs MPROTO_DATA.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from experiments import systems
from experiments.arguments import arguments
from experiments.cells import SHOWN_EVERY, Cell, documents, figures, once
from mproto import Recognizer, score
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

DATA, SHARES = ("bc5cdr-1.0", "bc5cdr-0.2", "conll03-1.0", "conll03-kb"), (0, 2, 4)
LEFT_OUT = -1


class Told(MProtoModel):
    """A model that never sees words with the label −1."""

    def start(self, batches: Iterator[Batch], generator: torch.Generator) -> None:
        super().start(map(_without, batches), generator)

    def learn_order(self, tags: Iterable[Sequence[int]]) -> None:
        """Of the dictionary's labels, in which those words are O."""
        super().learn_order([0 if tag == LEFT_OUT else tag for tag in sentence] for sentence in tags)

    def step(self, batch: Batch, progress: float) -> Step:
        return super().step(_without(batch), progress)


def _without(batch: Batch) -> Batch:
    assert batch.labels is not None
    return only_words(batch, batch.labels != LEFT_OUT)


def run(data: str, share: int) -> Cell:
    settings = [*systems.budget(data, 1), "mproto.denoise=false", f"mproto.labelled_share={share / 10}"]
    config = load_config(settings=settings)
    torch.manual_seed(config.training.seed)
    corpus, dev = documents(data, "train"), documents(data, "dev")
    model = Told(Encoder.load(config.encoder, shapes=config.shapes), label_set(corpus), config.mproto)
    human = [model.tag_numbers(document.with_spans(document.gold or (), None)) for document in corpus]
    told = Data.of(corpus, model)
    tags = [
        [LEFT_OUT if not tag and true else tag for tag, true in zip(*both, strict=True)]
        for both in zip(told.tags, human, strict=True)
    ]
    loop = Loop(model, replace(told, tags=tags), config.training, Average(config.training.average))
    loop.start()
    for progress in loop.run():
        if progress.step % SHOWN_EVERY == 0:
            print(f"perfect {data} {share} {progress.step}/{progress.steps} {progress.loss:.4f}", flush=True)
    found = Recognizer(model, config).predict(document.bare() for document in dev)
    return {"dev": score(zip(dev, found, strict=True)).as_dict(), "config": config.as_dict()}


def cell_name(data: str, share: int) -> str:
    return f"perfect_denoising/{data}-{share}"


def cell(data: str, share: int) -> Cell:
    return once(cell_name(data, share), lambda: run(data, share))


def main() -> None:
    parsed = arguments(__doc__, data=DATA, shares=SHARES)
    for data in parsed.data:
        for share in parsed.shares:
            found = figures(cell(data, share), "dev")
            print(f"{data}, labelled words {share / 10} of a step: F1 P R {found}", flush=True)


if __name__ == "__main__":
    main()
