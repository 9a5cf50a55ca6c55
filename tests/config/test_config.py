"""Settings: what is written is what is read, and what is wrong is said."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from mproto.config import PRESETS, Config, load_config
from mproto.errors import InputError


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
    assert (m.epsilon, m.iterations, m.solver, m.temperature, m.merge) == (0.001, 100, "sinkhorn", 1.0, False)
    assert (m.start, m.denoise_after, m.unit_features, m.only_correct) == ("random", 0.0, False, False)
    assert (t.epochs, t.batch_size, t.learning_rate, t.warmup, t.weight_decay) == (10, 32, 1e-4, 100, 1e-4)
    assert (t.max_gradient_norm, t.evaluate_every) == (1.0, 50)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("mproto.betta=0.1", "no setting 'mproto.betta'; did you mean mproto.beta?"),
        ("beta=0.1", "no setting 'beta'; did you mean mproto.beta?"),
        ("traning.epochs=1", "no setting 'traning'"),
        ("training.epochs=many", "training.epochs is 'many', and must be a number"),
        ("training.batch_size=1.5", "training.batch_size is 1.5, and must be a whole number"),
        ("training.batch_size=true", "must be a whole number"),
        ("mproto.merge=1", "must be true or false"),
        ("mproto.solver=newton", "must be one of threshold, sinkhorn, converged"),
        ("mproto=1", "mproto is a section"),
        ("mproto.beta", "has no value"),
        ("encoder=3", "must be a word"),
        ("method.x=3", "method is {'x': 3}, and must be a word"),
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
        ("mproto.dropout=2", "mproto.dropout is 2.0"),
        ("positive_unlabelled.priors.A=1", "positive_unlabelled.priors.A is 1.0, and must be above 0 and below 1"),
        ("positive_unlabelled.priors.A=few", "positive_unlabelled.priors.A is 'few', and must be a number"),
        ("positive_unlabelled.priors=0.5", "must be a number for each type or auto"),
        ("positive_unlabelled.eta=0", "positive_unlabelled.eta is 0.0, and must be above 0 and below 1"),
        ("training.selection=best", "must be one of auto, gold, last, noisy, held-out"),
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


def test_beta_may_be_estimated() -> None:
    assert load_config(settings=["mproto.beta=auto"]).mproto.beta == "auto"
    assert load_config(settings=["mproto.beta=1"]).mproto.beta == 1.0


def test_priors_are_a_table(tmp_path: Path) -> None:
    config = load_config(settings=["positive_unlabelled.priors.A=0.25", "positive_unlabelled.priors.B=0.5"])
    assert config.positive_unlabelled.priors == {"A": 0.25, "B": 0.5}
    (tmp_path / "c.toml").write_text(config.to_toml())
    assert load_config(file=tmp_path / "c.toml") == config
    assert load_config(settings=["positive_unlabelled.priors=auto"]) == Config()
