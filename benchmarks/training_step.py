"""Time of a training step, compared with the encoder alone and with a naive implementation.

    python benchmarks/training_step.py [--steps 40]

- bare: forward and backward pass of the encoder and fused AdamW, on the same batches, without the
  method.
- mproto: a whole step of the training loop. Assignment and update are also timed on their own.
- bfloat16: the same with `training.precision=bfloat16`, on processors that support it.
- naive: random batches padded to their longest sentence, unfused AdamW, Sinkhorn in float32
  logarithms, a loop over classes and one over words.

Uses BC5CDR sentences (MPROTO_DATA), with denoising in every step. All systems take turns, so that
other load affects them alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from mproto import read_documents
from mproto.config import load_config
from mproto.errors import InputError
from mproto.method import assignment as assignment_module
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.models.precision import trains_in_bfloat16
from mproto.training.data import Data

if TYPE_CHECKING:
    from mproto.models.batch import Batch

DATA = Path(os.environ.get("MPROTO_DATA", Path(__file__).parent / "../../shared/data"))


class Rival:
    """A model with its optimiser and the time of its steps."""

    def __init__(self, labels: list[str], *, fused: bool) -> None:
        self.config = load_config(settings=["mproto.denoise_after=0", "mproto.beta=0.96"])
        self.model = MProtoModel.build(Encoder.load(), labels, self.config)
        self.model.bank.start_at_random(torch.Generator().manual_seed(0))
        self.model.train()
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.AdamW(parameters, lr=1e-5, fused=fused, foreach=False if not fused else None)
        self.seconds: list[float] = []
        self.words = 0

    def step(self, batch: Batch) -> None:
        start = time.perf_counter()
        self.work(batch)
        self.seconds.append(time.perf_counter() - start)
        self.words += len(batch.rows)

    def work(self, batch: Batch) -> None:
        raise NotImplementedError

    def backward(self, loss: torch.Tensor) -> None:
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()


class Bare(Rival):
    def work(self, batch: Batch) -> None:
        self.backward(self.model.encoder(batch).square().mean())


class Whole(Rival):
    assignment = 0.0
    working: Whole  # the instance whose step is running

    def work(self, batch: Batch) -> None:
        Whole.working = self
        outcome = self.model.step(batch, 0.5)
        self.backward(outcome.loss)
        start = time.perf_counter()
        outcome.finish()
        self.assignment += time.perf_counter() - start


class Naive(Rival):
    def work(self, batch: Batch) -> None:
        model, labels = self.model, batch.labels
        similarity = model.bank.similarity(model.dropout(model.encoder(batch)))
        cost, class_of = 1 - similarity.detach(), model.bank.class_of
        target, keep = torch.zeros_like(labels), torch.ones_like(labels, dtype=torch.bool)
        for number in range(len(model.tags)):
            words = [i for i, label in enumerate(labels.tolist()) if label == number]
            if not words:
                continue
            own = class_of == number if number else torch.ones_like(class_of, dtype=torch.bool)
            b = torch.full((int(own.sum()),), len(words) / int(own.sum()))
            if not number:
                b = torch.where(class_of == 0, 0.01 * len(words) / 3, 0.99 * len(words) / (len(class_of) - 3))
            plan = log_sinkhorn(cost[words][:, own], torch.ones(len(words)), b)
            columns = own.nonzero().squeeze(-1)
            for row, word in enumerate(words):
                target[word] = columns[plan[row].argmax()]
                keep[word] = bool(number) or bool(class_of[target[word]] == 0)
        losses = []
        for word in keep.nonzero().squeeze(-1).tolist():
            distance = 1 - similarity[word, target[word]]
            losses.append(cross_entropy(similarity[word] / 0.05, target[word]) + 0.05 * distance**2)
        self.backward(torch.stack(losses).mean())


def log_sinkhorn(cost: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    kernel, u, v = -cost / 0.001, torch.zeros_like(a), torch.zeros_like(b)
    for _ in range(100):
        v = b.log() - torch.logsumexp(kernel + u[:, None], 0)
        u = a.log() - torch.logsumexp(kernel + v[None, :], 1)
    return (kernel + u[:, None] + v[None, :]).exp()


def time_assignment() -> None:
    """Add the time of `assign` to that of assignment."""
    import mproto.models.mproto as module

    def assign(*arguments: object, **keywords: object) -> object:
        start = time.perf_counter()
        found = assignment_module.assign(*arguments, **keywords)  # type: ignore[arg-type]
        Whole.working.assignment += time.perf_counter() - start
        return found

    module.assign = assign  # type: ignore[assignment]


def _in_bfloat16(rival: Rival) -> Rival:
    try:
        rival.model.encoder.mixed = trains_in_bfloat16("bfloat16", rival.model.device)
    except InputError as error:
        print(error)
    return rival


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    steps = parser.parse_args().steps
    documents = list(read_documents(DATA / "datasets" / "bc5cdr-1.0" / "train.jsonl"))
    labels = ["Chemical", "Disease"]
    bare, whole, naive = Bare(labels, fused=True), Whole(labels, fused=True), Naive(labels, fused=False)
    short = _in_bfloat16(Whole(labels, fused=True))
    time_assignment()
    data = Data.of(documents, whole.model)
    generator = torch.Generator().manual_seed(0)
    bucketed = data.batches(whole.config.training, generator)
    shuffled = torch.randperm(len(data.windows), generator=generator).tolist()
    for number in range(steps + 2):
        if number == 2:  # the first two warm up
            for rival in (bare, whole, short, naive):
                rival.seconds, rival.words = [], 0
            whole.assignment = 0.0
        batch = data.batch(bucketed[number])
        for rival in (bare, whole) if number % 2 else (whole, bare):
            rival.step(batch)
        if short.model.encoder.mixed:
            short.step(batch)
        if number % 4 == 0 or number < 2:
            naive.step(data.batch(shuffled[32 * number : 32 * number + 32]))
    print(f"{steps} steps of up to 32 sentences, {torch.get_num_threads()} threads")
    ratios = [one / other for one, other in zip(whole.seconds, bare.seconds, strict=True)]
    for name, rival in (("bare", bare), ("mproto", whole), ("naive", naive)):
        total = sum(rival.seconds)
        print(f"{name:8s} {rival.words / total:8.0f} words/s  {1000 * total / len(rival.seconds):7.1f} ms a step")
    if short.model.encoder.mixed:
        saved = statistics.median(one / other for one, other in zip(short.seconds, whole.seconds, strict=True))
        print(f"bfloat16 / mproto: {saved:.3f} (median of {steps})")
    print(f"mproto / bare: {statistics.median(ratios):.3f} (median of {steps}; limit 1.10)")
    speedup = (whole.words / sum(whole.seconds)) / (naive.words / sum(naive.seconds))
    print(f"mproto is {speedup:.1f} times as fast as naive (goal 2)")
    print(f"assignment and update: {100 * whole.assignment / sum(whole.seconds):.1f} % of a step (limit 4 %)")


if __name__ == "__main__":
    main()
