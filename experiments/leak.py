"""What the leak of human labels in the published code gains.

That code moves the prototypes whenever it computes a loss, and it computes one when it evaluates on
development data. So every 50 steps human labels move the prototypes, just before the checkpoint is
saved. `mproto.train` cannot do that. This script therefore builds its own loop, with an evaluation
that leaks on purpose and one that does not. All else is as published: the preset `published`, and
checkpoints selected on human labels; but two epochs instead of ten.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

from experiments.cells import (
    PRECISION,
    Cell,
    changed_settings,
    documents,
    load,
    once,
    percent,
    score_on,
    show_progress,
)
from experiments.command import run_command
from mproto import Recognizer
from mproto.config import load_config
from mproto.models.encoder import Encoder
from mproto.models.precision import has_bfloat16, trains_in_bfloat16
from mproto.models.registry import get_method
from mproto.training.data import Data, label_set
from mproto.training.loop import Loop
from mproto.training.selection import Best

if TYPE_CHECKING:
    from mproto.config import Config
    from mproto.models.base import Model

ABOUT, MINUTES = "the label leak of the published code", 15
DATA, PRESET = "bc5cdr-1.0", "published"
SIDES = ("with", "without")
NOTE = (
    """*The paper* does not mention it. *Here:* the leak gains nothing that can be told from noise. One seed; test."""
)


def cell_name(side: str) -> str:
    return f"leak/{DATA}-{side}"


def cells() -> list[str]:
    return [cell_name(side) for side in SIDES]


def cell(side: str) -> Cell:
    return once(cell_name(side), lambda: _run(side))


def _run(side: str) -> Cell:
    config = load_config(PRESET, settings=["training.epochs=2", PRECISION])
    torch.manual_seed(config.training.seed)
    corpus, dev, test = (documents(DATA, split) for split in ("train", "dev", "test"))
    encoder = Encoder.load(config.encoder, shapes=config.word_shapes, attention_dropout=config.attention_dropout)
    model = get_method("mproto").build(encoder, label_set(corpus), config)
    encoder.mixed = trains_in_bfloat16(config.training.precision, model.device)
    recognizer = Recognizer(model, config)
    human = Data.of(dev, model)

    def evaluate() -> float:
        if side == "with":
            _move_prototypes(model, human, config)
        f1: float = score_on(dev[::4], recognizer)["f1"]
        return f1

    loop = Loop(model, Data.of(corpus, model), config.training, Best(evaluate))
    loop.start()
    start = time.perf_counter()
    for progress in loop.run():
        show_progress(f"leak {side}", progress)
    seconds = round(time.perf_counter() - start, 1)
    encoder.mixed = has_bfloat16(model.device)
    return {
        "seconds": seconds,
        "settings": changed_settings(config, PRESET),
        "test": score_on(test, recognizer),
    }


@torch.no_grad()
def _move_prototypes(model: Model, human: Data, config: Config) -> None:
    model.eval()
    for indices in human.in_order(range(len(human.windows)), config.training):
        model.step(human.batch(indices), 1.0).finish()
    model.train()


def render() -> str:
    found = {side: cell for side in SIDES if (cell := load(cell_name(side)))}
    rows = [
        f"| {side} | {' | '.join(f'{value:.2f}' for value in percent(cell).values())} |" for side, cell in found.items()
    ]
    return "\n".join([NOTE, "", f"| {DATA} | F1 | P | R |", "|---|---|---|---|", *rows])


def main() -> None:
    run_command(__doc__, "The label leak of the published code", render, cell, sides=SIDES)


if __name__ == "__main__":
    main()
