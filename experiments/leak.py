"""What the published code's leak of human labels is worth.

    python -m experiments.leak [--render]

That code moves the prototypes whenever a loss is computed, and computes one when it evaluates on development data:
every 50 steps, human labels move the prototypes, just before the checkpoint is saved. Nothing of the kind can happen
with `mproto.train`, so this file builds its own loop, with an evaluation that does it on purpose, and one that does
not. Otherwise as published: the paper's preset with the code's way to update (unit features of correctly predicted
words), checkpoints chosen on human labels; two epochs instead of ten. Needs MPROTO_DATA.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

from experiments.arguments import arguments
from experiments.cells import PRECISION, Cell, documents, load, once
from experiments.page import write_section
from mproto import Recognizer, score
from mproto.config import load_config
from mproto.models.encoder import Encoder
from mproto.models.precision import has_bfloat16, trains_in_bfloat16
from mproto.models.registry import get_method
from mproto.training.data import Data, label_set
from mproto.training.loop import Loop
from mproto.training.selection import Best

if TYPE_CHECKING:
    from mproto import Document

ABOUT, MINUTES = "the label leak of the published code, with it and without", 15
DATA, EVERY = "bc5cdr-1.0", 50
SETTINGS = (
    "training.epochs=2",
    f"training.evaluate_every={EVERY}",
    "mproto.unit_features=true",
    "mproto.only_correct=true",
    PRECISION,
)
NOTE = """*The paper* does not mention it. *Here:* it is worth nothing that could be told from noise."""


def cell_name(*, leak: bool) -> str:
    return f"leak/{DATA}-{'with' if leak else 'without'}"


def cells() -> list[str]:
    return [cell_name(leak=leak) for leak in (True, False)]


def run(*, leak: bool) -> Cell:
    config = load_config("paper", settings=SETTINGS)
    torch.manual_seed(config.training.seed)
    corpus, dev, test = (documents(DATA, split) for split in ("train", "dev", "test"))
    encoder = Encoder.load(config.encoder, shapes=config.shapes, attention_dropout=config.attention_dropout)
    model = get_method("mproto").build(encoder, label_set(corpus), config)
    encoder.mixed = trains_in_bfloat16(config.training.precision, model.device)
    recognizer = Recognizer(model, config)
    data, human = Data.of(corpus, model), Data.of(dev, model)

    def evaluate() -> float:
        if leak:
            _move_prototypes(human)
        return _f1(dev[::4])

    def _move_prototypes(labelled: Data) -> None:
        model.eval()
        with torch.no_grad():
            for indices in labelled.in_order(range(len(labelled.windows)), config.training):
                model.step(labelled.batch(indices), 1.0).finish()
        model.train()

    def _f1(gold: list[Document]) -> float:
        return score(zip(gold, recognizer.predict(d.bare() for d in gold), strict=True)).overall.f1

    loop = Loop(model, data, config.training, Best(evaluate))
    loop.start()
    start = time.perf_counter()
    for progress in loop.run():
        if progress.step % 25 == 0:
            print(f"leak {leak} {progress.step}/{progress.steps} {progress.loss:.4f} {progress.score}", flush=True)
    encoder.mixed = has_bfloat16(model.device)
    scores = score(zip(test, recognizer.predict(d.bare() for d in test), strict=True))
    seconds = round(time.perf_counter() - start, 1)
    return {"leak": leak, "seconds": seconds, "test": scores.as_dict(), "config": config.as_dict()}


def render() -> str:
    rows = []
    for leak in (True, False):
        if found := load(cell_name(leak=leak)):
            values = [100 * found["test"]["overall"][key] for key in ("f1", "precision", "recall")]
            rows.append(f"| {'with' if leak else 'without'} | {' | '.join(f'{value:.2f}' for value in values)} |")
    return "\n".join([NOTE, "", f"| {DATA} | F1 | P | R |", "|---|---|---|---|", *rows])


def main() -> None:
    parsed = arguments(__doc__)
    if not parsed.render:
        for leak in (True, False):
            print(once(cell_name(leak=leak), lambda: run(leak=leak))["test"]["overall"])  # noqa: B023
    write_section("The label leak of the published code", render())


if __name__ == "__main__":
    main()
