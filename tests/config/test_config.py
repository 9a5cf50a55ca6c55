"""Settings: written files read back, invalid ones are refused, those of version 0.1 are explained."""

from __future__ import annotations

import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto.config import PRESETS, Config, legacy, load_config
from mproto.errors import InputError
from mproto.method.sinkhorn import EPSILON, ITERATIONS
from mproto.training.loop import MAX_GRADIENT_NORM, WEIGHT_DECAY


@pytest.mark.parametrize("preset", PRESETS)
def test_a_written_configuration_reads_back(preset: str, tmp_path: Path) -> None:
    config = load_config(preset, settings=['encoder="a \\"b\\" \\\\ c"', "mproto.beta=0.25"])
    (tmp_path / "c.toml").write_text(config.to_toml())
    assert load_config(file=tmp_path / "c.toml") == config
    assert Config().with_values(config.as_dict()) == config


def test_later_sources_win(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("method = 'tagger'\n[mproto]\nbeta = 0.5\nalpha = 0.5\n")
    config = load_config("paper", tmp_path / "c.toml", ["mproto.beta=0.75"], encoder="x", method=None)
    assert (config.mproto.beta, config.mproto.alpha, config.mproto.temperature) == (0.75, 0.5, 1.0)
    assert (config.method, config.encoder) == ("tagger", "x")


def test_the_paper_preset_is_the_papers() -> None:
    """The values of the paper's appendix, for BC5CDR with the whole dictionary."""
    config = load_config("paper")
    m, t = config.mproto, config.training
    assert (m.prototypes, m.compactness, m.alpha, m.beta) == (3, 0.05, 0.9, 0.01)
    assert (m.denoising, m.temperature, m.merge_prototypes, m.viterbi) == ("transport", 1.0, False, False)
    assert (m.init, m.denoise_after, m.prototype_update, m.labelled_share) == ("random", 0.0, "raw", 0.0)
    assert (t.epochs, t.batch_size, t.learning_rate, t.warmup) == (10, 32, 1e-4, 100)
    assert (t.evaluate_every, t.average, config.word_shapes) == (50, 0.0, False)
    assert (EPSILON, ITERATIONS, WEIGHT_DECAY, MAX_GRADIENT_NORM) == (0.001, 100, 1e-4, 1.0)


def test_the_published_preset_differs_in_the_update_alone() -> None:
    paper, published = load_config("paper"), load_config("published")
    assert published.mproto.prototype_update == "published"
    assert published.with_values({"mproto": {"prototype_update": "raw"}}) == paper


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("mproto.betta=0.1", "no setting 'mproto.betta'; did you mean mproto.beta?"),
        ("beta=0.1", "no setting 'beta'; did you mean mproto.beta?"),
        ("traning.epochs=1", "no setting 'traning.epochs'; did you mean training.epochs?"),
        ("training.epochs=many", "training.epochs is 'many', and must be a number"),
        ("training.batch_size=1.5", "training.batch_size is 1.5, and must be a whole number"),
        ("training.batch_size=true", "must be a whole number"),
        ("mproto.viterbi=1", "must be true or false"),
        ("mproto.denoising=newton", "must be one of none, relabel, transport, threshold"),
        ("mproto=1", "mproto is a section"),
        ("mproto.beta", "has no value"),
        ("encoder=3", "must be a string"),
        ("method.x=3", "method is {'x': 3}, and must be a string"),
    ],
)
def test_wrong_settings(setting: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        load_config(settings=[setting])
    assert message in str(raised.value)
    assert raised.value.hint


def test_wrong_files(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[mproto]\nbeta = \n")
    with pytest.raises(InputError, match=r"c.toml: is not TOML: .*line 2"):
        load_config(file=tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text("[mproto]\nbetas = 1\n")
    with pytest.raises(InputError, match=r"c.toml: there is no setting 'mproto.betas'"):
        load_config(file=tmp_path / "c.toml")
    with pytest.raises(InputError, match="cannot be read"):
        load_config(file=tmp_path / "nothing.toml")
    with pytest.raises(InputError, match="no preset 'fast'"):
        load_config("fast")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.batch_size=0", "training.batch_size is 0, and must be at least 1"),
        ("training.epochs=inf", "training.epochs is inf, and must be from 0 to 1000000.0"),
        ("training.epochs=nan", "training.epochs is nan"),
        ("mproto.beta=1.5", "mproto.beta is 1.5, and must be from 0 to 1"),
        ("mproto.beta=automatic", "mproto.beta is 'automatic', and must be a number or auto"),
        ("mproto.temperature=0", "mproto.temperature is 0.0, and must be at least 0.001"),
        ("dropout=2", "dropout is 2.0"),
        ("positive_unlabelled.priors.A=1", "positive_unlabelled.priors.A is 1.0, and must be above 0 and below 1"),
        ("positive_unlabelled.priors.A=few", "positive_unlabelled.priors.A is 'few', and must be a number"),
        ("positive_unlabelled.priors=0.5", "must be a number for each type or auto"),
        ("training.selection=best", "must be one of auto, dev, last"),
    ],
)
def test_values_out_of_range(setting: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        load_config(settings=[setting])
    assert message in str(raised.value)


def test_every_number_has_a_range() -> None:
    for section in vars(Config()).values():
        for setting in fields(section) if is_dataclass(section) else ():
            is_number = type(setting.default) in (int, float)
            assert ("range" in setting.metadata) >= is_number or setting.name == "seed"


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("mproto.solver=sinkhorn", "it was renamed to mproto.denoising in version 0.2"),
        ("shapes=false", "it was renamed to word_shapes in version 0.2"),
        ("mproto.kin=0.5", "it became a constant in version 0.2; leave it out"),
        ("tagger.dropout=0.2", "it was renamed to dropout in version 0.2"),
        ("tagger.scheme=io", "it became a constant in version 0.2; leave it out"),
    ],
)
def test_settings_of_version_0_1_are_explained(setting: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"there is no setting '{setting.partition('=')[0]}'") as raised:
        load_config(settings=[setting])
    assert raised.value.hint == hint


def test_settings_of_a_model_of_version_0_1() -> None:
    """As saved in its config.json. Settings that matter only in training are dropped."""
    saved = {
        "method": "mproto",
        "encoder": "x",
        "shapes": True,
        "attention_dropout": 0.0,
        "training": {"epochs": 3.0, "weight_decay": 1e-4, "max_gradient_norm": 1.0, "selection": "gold", "seed": 4},
        "mproto": {
            "prototypes": 2,
            "start": "kmeans",
            "alpha": 0.9,
            "unit_features": True,
            "only_correct": False,
            "denoise": True,
            "beta": "auto",
            "shared_doubt": 0.75,
            "kin": "auto",
            "price": 0.15,
            "solver": "threshold",
            "temperature": 0.1,
            "learn_temperature": False,
            "merge": False,
            "together": True,
            "dropout": 0.2,
        },
        "tagger": {"scheme": "bio", "dropout": 0.1},
        "self_training": {"on": "mpu", "share": 0.5},
        "autoner": {"phrases": "", "hidden": 256},
    }
    config = Config().with_values(legacy.upgrade(saved))
    m = config.mproto
    assert (m.prototypes, m.init, m.denoising, m.merge_prototypes, m.viterbi) == (2, "kmeans", "threshold", False, True)
    assert m.temperature == 0.05  # version 0.1 always predicted with this value
    assert (config.word_shapes, config.dropout, config.training.selection) == (True, 0.2, "dev")
    assert (config.self_training.teacher, config.training.epochs, config.training.seed) == ("mpu", 3.0, 4)
    assert legacy.upgrade(config.as_dict()) == config.as_dict()
    with pytest.raises(InputError, match="tagger.scheme=io, which was removed"):
        legacy.upgrade({"method": "tagger", "tagger": {"scheme": "io"}})


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_string_survives_toml(text: str) -> None:
    config = Config(encoder=text)
    assert Config().with_values(tomllib.loads(config.to_toml())) == config


def test_there_are_at_most_forty_settings() -> None:
    values = Config().as_dict().values()
    assert sum(len(value) if isinstance(value, dict) else 1 for value in values) <= 40


def test_beta_may_be_estimated() -> None:
    assert load_config(settings=["mproto.beta=auto"]).mproto.beta == "auto"
    assert load_config(settings=["mproto.beta=1"]).mproto.beta == 1.0


def test_priors_are_a_table(tmp_path: Path) -> None:
    config = load_config(settings=["positive_unlabelled.priors.A=0.25", "positive_unlabelled.priors.B=0.5"])
    assert config.positive_unlabelled.priors == {"A": 0.25, "B": 0.5}
    (tmp_path / "c.toml").write_text(config.to_toml())
    assert load_config(file=tmp_path / "c.toml") == config
    assert load_config(settings=["positive_unlabelled.priors=auto"]) == Config()
