"""What tells unlabelled entities from words that are none, when denoising begins.

    python -m experiments.doubt [--data conll03-1.0] [--variants plain weighted]

A model learns from distant labels for a fifth of the budget, without denoising. Then each training word without a label is
asked for: P(entity) of the mention itself, and its mean over all mentions of the word, on the scale of log-odds. Human
labels of train say how well that orders words, and serve nothing but this table. Needs MPROTO_DATA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from experiments import systems
from experiments.arguments import arguments
from experiments.cells import SHOWN_EVERY, Cell, documents, once
from mproto import train
from mproto.analysis.prototypes import prototype_model
from mproto.analysis.words import look
from mproto.config import load_config
from mproto.method.losses import class_logits
from mproto.training.data import Data

if TYPE_CHECKING:
    from mproto.training.loop import Progress

DATA = ("bc5cdr-1.0", "bc5cdr-0.2", "conll03-1.0", "conll03-kb")
VARIANTS = {
    "plain": ["mproto.labelled_share=0"],
    "weighted": ["mproto.labelled_share=0.2"],
}
MENTION = 0.25
"""How much of what is asked is the mention itself; the rest is the mean of all."""


def run(variant: str, data: str) -> Cell:
    corpus = documents(data, "train")
    settings = [*systems.budget(data, 1), "mproto.denoise=false", *VARIANTS[variant]]
    settings.append(f"training.epochs={systems.EPOCHS[systems.corpus_of(data)] / 5}")

    def show(progress: Progress) -> None:
        if progress.step % SHOWN_EVERY == 0:
            print(f"doubt {variant} {data} {progress.step}/{progress.steps} {progress.loss:.4f}", flush=True)

    recognizer = train(corpus, config=load_config(settings=settings), on_step=show).recognizer
    words = look(recognizer, corpus)
    model = prototype_model(recognizer.model)
    assert model is not None
    logits = class_logits(
        model.bank.similarity(words.features), model.bank.class_of, model.log_temperature.exp().item()
    )
    odds = torch.logsumexp(logits[:, 1:], 1) - logits[:, 0]
    numbers = Data.of(corpus, model).words
    word = torch.tensor([numbers[d][i] for d, i in zip(words.document.tolist(), words.index.tolist(), strict=True)])
    counts = torch.bincount(word).clamp_min(1)
    mean = (torch.bincount(word, odds) / counts)[word]
    other, entity = words.labels == 0, words.gold > 0
    unlabelled = other & entity
    return {
        "unlabelled": unlabelled.sum().item() / other.sum().item(),
        "labelled": (~other & entity).sum().item() / entity.sum().item(),
        "mention": ordering(odds[other], entity[other]),
        "word": ordering((MENTION * odds + (1 - MENTION) * mean)[other], entity[other]),
        "right_type": (logits[unlabelled, 1:].argmax(1) + 1 == words.gold[unlabelled]).double().mean().item(),
        "config": recognizer.config.as_dict(),
    }


def ordering(scores: torch.Tensor, positive: torch.Tensor) -> dict[str, float]:
    """How well scores order positive ones before others.

    Returns:
        `auc`; `ap`, the average precision; and `found`, the share of the positive ones among as many and among twice as many
        of the highest as there are positive ones.
    """
    hits = positive[scores.argsort(descending=True)].double()
    total, before = hits.sum(), hits.cumsum(0)
    precision = before / torch.arange(1, len(hits) + 1)
    others = (1 - hits).sum()
    auc = 1 - ((1 - hits).cumsum(0) * hits).sum() / (total * others)
    found = [before[min(int(times * total), len(hits)) - 1] / total for times in (1, 2)]
    return {
        "auc": auc.item(),
        "ap": ((precision * hits).sum() / total).item(),
        "found": found[0].item(),
        "found_2": found[1].item(),
    }


def main() -> None:
    parsed = arguments(__doc__, data=DATA, variants=VARIANTS)
    for data in parsed.data:
        for variant in parsed.variants:
            cell = once(f"doubt/{data}-{variant}", lambda: run(variant, data))  # noqa: B023
            shown = "; ".join(
                f"{kind}: AUC {cell[kind]['auc']:.3f} AP {cell[kind]['ap']:.3f} found {cell[kind]['found']:.3f} "
                f"{cell[kind]['found_2']:.3f}"
                for kind in ("mention", "word")
            )
            print(f"{data} {variant}: {shown}; right type {cell['right_type']:.3f}", flush=True)


if __name__ == "__main__":
    main()
