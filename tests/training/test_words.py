"""Words in training: ids, spellings, shares of labelled mentions, and the neighbour prior."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from encoders import embedded, write_roberta
from mproto import train
from mproto.models import mproto as mproto_module
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.training.data import Data
from mproto.training.loop import Loop
from mproto.training.selection import Average
from runs import labelled, small_config

THRESHOLD = ("mproto.denoising=threshold", "mproto.beta=0.9")


def test_numbers_spellings_and_labelled_shares_are_those_of_the_text(tmp_path) -> None:
    documents = labelled()
    encoder = Encoder.load(str(write_roberta(tmp_path, positions=200)))
    data = Data.of(documents, MProtoModel.build(encoder, ("Chemical", "Disease"), small_config()))
    mentions, with_label = Counter(), Counter()
    for document, numbers in zip(documents, data.words, strict=True):
        inside = {word for start, end, _ in document.word_spans for word in range(start, end)}
        for place, (text, number) in enumerate(zip(document.word_texts, numbers, strict=True)):
            spelling = data.spellings[number]
            assert (spelling.casefold(), spelling[:1].islower()) == (text.casefold(), text[:1].islower())
            mentions[number] += 1
            with_label[number] += place in inside
    keys = [(spelling.casefold(), spelling[:1].islower()) for spelling in data.spellings]
    assert len(set(keys)) == len(keys)
    assert data.labelled_shares() == [with_label[number] / mentions[number] for number in range(len(keys))]
    assert 0 < sum(with_label.values()) < sum(mentions.values())


def started(*settings: str) -> MProtoModel:
    config = small_config(*settings)
    model = MProtoModel.build(embedded(), ("Chemical", "Disease"), config)
    Loop(model, Data.of(labelled(), model), config.training, Average(0.0)).start()
    return model


def test_neighbours_are_known_before_the_first_step_of_the_threshold() -> None:
    prior = started("mproto.denoising=threshold").denoiser.prior  # type: ignore[attr-defined]
    assert 0 < prior.weight < 1
    assert 0 <= prior.prediction.min() < prior.prediction.max() <= 1
    for denoising in ("relabel", "transport", "none"):
        assert not hasattr(started(f"mproto.denoising={denoising}").denoiser, "prior")


def weigh(monkeypatch: pytest.MonkeyPatch, weight: float) -> None:
    """Fix the weight of the neighbour prior."""
    monkeypatch.setattr(mproto_module, "explained_variance", lambda *_: weight)


def test_beta_is_the_share_of_words_that_are_kept(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    weigh(monkeypatch, 0.0)
    encoder = str(write_roberta(tmp_path, positions=200))
    kept: list[float] = []
    config = small_config("training.min_steps=24", *THRESHOLD, "mproto.beta=0.1", encoder=encoder)
    train(labelled(), config=config, on_step=lambda progress: kept.append(progress.logs["kept"]))
    begin = round(config.mproto.denoise_after * len(kept))
    assert set(kept[:begin]) == {1.0}
    assert sum(kept[begin:]) / len(kept[begin:]) == pytest.approx(0.1, abs=0.05)
    assert max(kept[begin:]) > min(kept[begin:])  # the threshold is not that of the step


def test_words_with_labelled_neighbours_are_left_out_from_the_first_step(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = str(write_roberta(tmp_path, positions=200))
    kept: dict[float, float] = {}
    for weight in (0.1, 1.0):
        weigh(monkeypatch, weight)
        config = small_config("training.min_steps=2", *THRESHOLD, "mproto.denoise_after=0.9", encoder=encoder)
        train(
            labelled(),
            config=config,
            on_step=lambda progress, weight=weight: kept.setdefault(weight, progress.logs["kept"]),
        )
    assert kept[0.1] == 1  # a tenth of any share is too little
    assert kept[1.0] < 1


def test_neighbours_change_what_is_learnt(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = str(write_roberta(tmp_path, positions=200))
    states = []
    for weight in (0.0, 1.0):
        weigh(monkeypatch, weight)
        config = small_config("training.min_steps=12", *THRESHOLD, encoder=encoder)
        states.append(train(labelled(), config=config).recognizer.model.state_dict())
    one, other = states
    assert not all(torch.equal(one[name], other[name]) for name in one)
