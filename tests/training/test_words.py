"""Words as training knows them: a number each, how they are written, how often they are labelled, and their kin."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from encoders import embedded, write_roberta
from mproto import train
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.training.data import Data
from mproto.training.loop import Loop
from mproto.training.selection import Average
from runs import labelled, small_config


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


def test_kin_are_known_before_the_first_step_where_they_are_wanted() -> None:
    auto, fixed = (started(f"mproto.kin={kin}").kin for kin in ("auto", 0.25))
    assert 0 < auto.share < 1
    assert fixed.share == 0.25
    assert torch.equal(auto.expected, fixed.expected)
    assert 0 <= auto.expected.min() < auto.expected.max() <= 1
    for setting in ("mproto.solver=sinkhorn", "mproto.denoise=false", "mproto.kin=0"):
        assert len(started(setting).kin.expected) == 0


def test_as_many_words_are_left_out_as_beta_says(tmp_path) -> None:
    encoder = str(write_roberta(tmp_path, positions=200))
    settings = ["training.min_steps=24", "mproto.solver=threshold", "mproto.kin=0", "mproto.beta=0.1"]
    kept: list[float] = []
    config = small_config(*settings, encoder=encoder)
    train(labelled(), config=config, on_step=lambda progress: kept.append(progress.logs["kept"]))
    begin = round(config.mproto.denoise_after * len(kept))
    assert set(kept[:begin]) == {1.0}
    assert sum(kept[begin:]) / len(kept[begin:]) == pytest.approx(0.1, abs=0.05)
    assert max(kept[begin:]) > min(kept[begin:])  # the threshold is not that of the step


def test_words_whose_kin_are_labelled_are_left_out_from_the_first_step(tmp_path) -> None:
    encoder = str(write_roberta(tmp_path, positions=200))
    settings = ["training.min_steps=2", "mproto.solver=threshold", "mproto.beta=0.9", "mproto.denoise_after=0.9"]
    kept: dict[float, float] = {}
    for kin in (0.1, 1.0):
        config = small_config(*settings, f"mproto.kin={kin}", encoder=encoder)
        train(
            labelled(),
            config=config,
            on_step=lambda progress, kin=kin: kept.setdefault(kin, progress.logs["kept"]),
        )
    assert kept[0.1] == 1  # a tenth of any share is too little
    assert kept[1.0] < 1


def test_kin_change_what_is_learnt(tmp_path) -> None:
    encoder = str(write_roberta(tmp_path, positions=200))
    settings = ["training.min_steps=12", "mproto.solver=threshold", "mproto.beta=0.9"]
    configs = [small_config(*settings, f"mproto.kin={kin}", encoder=encoder) for kin in (0, 1)]
    one, other = (train(labelled(), config=config).recognizer.model.state_dict() for config in configs)
    assert not all(torch.equal(one[name], other[name]) for name in one)
