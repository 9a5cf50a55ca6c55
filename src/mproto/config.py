"""Every setting of a training run, with its default. What the presets change is in `presets/*.toml`.

A setting is named `section.key`, in a TOML file and in `--set`. Unknown keys and values of the wrong kind are errors.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mproto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PRESETS = ("default", "paper")

T = TypeVar("T")


@dataclass(frozen=True)
class Training:
    """The loop, the same for every method.

    Attributes:
        epochs: passes over the training data; may be a fraction.
        min_steps: at least so many steps, however small the data.
        batch_size: most sentences of a batch.
        token_budget: most sub-words of a batch, filling included.
        learning_rate: the highest, after warm-up; it then falls linearly to 0.
        weight_decay: of AdamW.
        warmup: how long the learning rate rises: a number of steps, or below 1 a share of all steps.
        max_gradient_norm: gradients longer than this are shortened to it.
        evaluate_every: steps between two evaluations; 0 for once an epoch.
        selection: which weights to end with, `gold`, `last`, `noisy` or `held-out` (see training/selection.py); `auto` is
            `gold` where there are development data, and `last` where there are none.
        average: of `last`, the share of training at its end over which weights are averaged.
        checkpoint_minutes: time between two checkpoints; 0 for one after every step.
        seed: of everything random.
        device: `auto` for the GPU where there is one, or `cpu`, `cuda`, `cuda:N`.
    """

    epochs: float = 2.0
    min_steps: int = 150
    batch_size: int = 32
    token_budget: int = 4096
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    warmup: float = 0.1
    max_gradient_norm: float = 1.0
    evaluate_every: int = 0
    selection: Literal["auto", "gold", "last", "noisy", "held-out"] = "auto"
    average: float = 0.0
    checkpoint_minutes: float = 5.0
    seed: int = 0
    device: str = "auto"


@dataclass(frozen=True)
class MProto:
    """The multi-prototype network.

    Attributes:
        prototypes: M, of each class.
        start: prototypes at first: `kmeans`, centres of the features of each class's words, or `random`, as in the paper.
        alpha: α, how much of a prototype stays when it is updated.
        unit_features: bring the mean feature to length one before it is mixed into a prototype; the paper does not.
        only_correct: update with words alone whose predicted class is their label; the paper does not, its code does.
        denoise: whether O words go through denoised transport.
        denoise_after: the share of training that passes before that begins.
        beta: β, the share of O words expected at O prototypes; `auto` to estimate it when denoising begins.
        solver: `sinkhorn`, cut off after `iterations`, as in the paper; or `converged`.
        epsilon: λʳ, the weight of the entropy.
        iterations: of `sinkhorn`.
        temperature: τ, which similarities are divided by in the cross-entropy; the paper has none (1).
        learn_temperature: let training move it.
        merge: cross-entropy over classes, same-class prototypes merged; the paper's is over prototypes.
        compactness: λᶜ, the weight of the compactness loss.
        dropout: on the features, in training.
    """

    prototypes: int = 3
    start: Literal["kmeans", "random"] = "kmeans"
    alpha: float = 0.9
    unit_features: bool = True
    only_correct: bool = False
    denoise: bool = True
    denoise_after: float = 0.33
    beta: float | Literal["auto"] = 0.96
    solver: Literal["sinkhorn", "converged"] = "sinkhorn"
    epsilon: float = 0.001
    iterations: int = 100
    temperature: float = 0.05
    learn_temperature: bool = False
    merge: bool = True
    compactness: float = 0.05
    dropout: float = 0.1


@dataclass(frozen=True)
class Tagger:
    """A linear layer on the features, trained with plain cross-entropy.

    Attributes:
        scheme: of its tags.
        dropout: on the features, in training.
    """

    scheme: Literal["bio", "io"] = "bio"
    dropout: float = 0.1


@dataclass(frozen=True)
class Config:
    """A whole run.

    Attributes:
        method: the system to train.
        encoder: the embedded one, a folder, or a Hugging Face name.
    """

    method: str = "mproto"
    encoder: str = "all-MiniLM-L6-v2"
    training: Training = field(default_factory=Training)
    mproto: MProto = field(default_factory=MProto)
    tagger: Tagger = field(default_factory=Tagger)

    def as_dict(self) -> dict[str, Any]:
        return {
            f.name: {g.name: getattr(value, g.name) for g in fields(value)} if is_dataclass(value) else value
            for f in fields(self)
            for value in [getattr(self, f.name)]
        }

    def with_values(self, values: Mapping[str, Any], path: Path | str | None = None) -> Config:
        """The same with some settings changed.

        Raises:
            InputError: a key that does not exist, or a value of the wrong kind.
        """
        try:
            return _changed(self, values, "")
        except InputError as error:
            raise error.at(path) if path else error from None

    def to_toml(self) -> str:
        """All settings, in a form that `load_config` reads."""
        lines: list[str] = []
        sections: list[str] = []
        for name, value in self.as_dict().items():
            if isinstance(value, dict):
                sections.append("\n".join([f"\n[{name}]", *(f"{key} = {_toml(v)}" for key, v in value.items())]))
            else:
                lines.append(f"{name} = {_toml(value)}")
        return "\n".join([*lines, *sections]) + "\n"


def load_config(
    preset: str = "default", file: Path | str | None = None, settings: Iterable[str] = (), **values: Any
) -> Config:
    """The configuration of a run: preset, then file, then single settings, each over what came before.

    Args:
        preset: `default` or `paper`.
        file: a TOML file.
        settings: `section.key=value`, as given to `--set`.
        values: top-level values such as `method`; those that are `None` change nothing.
    """
    config = Config()
    if preset not in PRESETS:
        raise InputError(f"there is no preset {preset!r}", hint=f"choose from {', '.join(PRESETS)}")
    if preset != "default":
        config = config.with_values(tomllib.loads((files("mproto.presets") / f"{preset}.toml").read_text("utf-8")))
    if file is not None:
        config = config.with_values(_read_toml(Path(file)), file)
    for setting in settings:
        config = config.with_values(_parse_setting(setting))
    return config.with_values({key: value for key, value in values.items() if value is not None})


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path, hint="check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML: {error}", path=path, hint="correct it") from None


def _parse_setting(setting: str) -> dict[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals:
        raise InputError(f"--set {setting} has no value", hint="write --set section.key=value")
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        value = text  # a word: strings need no quotes here
    values: dict[str, Any] = {}
    *sections, key = name.strip().split(".")
    inner = values
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[key] = value
    return values


def _changed(settings: T, values: Mapping[str, Any], section: str) -> T:
    kinds = get_type_hints(type(settings))
    changes = {}
    for key, value in values.items():
        name = f"{section}{key}"
        if key not in kinds:
            near = difflib.get_close_matches(name, _all_names(), 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(f'{section}{kind}' for kind in kinds)}"
            raise InputError(f"there is no setting {name!r}", hint=hint)
        if is_dataclass(kinds[key]):
            if not isinstance(value, dict):
                raise InputError(f"{name} is a section, not a value", hint=f"set one of its keys: {name}.key")
            changes[key] = _changed(getattr(settings, key), value, f"{name}.")
        else:
            changes[key] = _checked(value, kinds[key], name)
            _check_range(changes[key], name)
    return replace(settings, **changes)  # type: ignore[type-var]


def _checked(value: Any, kind: Any, name: str) -> Any:
    """The value, if it is of the kind; whole numbers will do for real ones."""
    if get_origin(kind) is Union:
        number, word = get_args(kind)
        if value in get_args(word):
            return value
        if type(value) in (int, float):
            return number(value)
        wanted = f"a number or {', '.join(get_args(word))}"
    elif get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        wanted = f"one of {', '.join(get_args(kind))}"
    elif kind is float and type(value) in (int, float):
        return float(value)
    elif type(value) is kind:
        return value
    else:
        wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}[kind]
    raise InputError(f"{name} is {value!r}, and must be {wanted}", hint="correct the value")


_AT_LEAST = {
    "training.epochs": 0,
    "training.min_steps": 0,
    "training.batch_size": 1,
    "training.token_budget": 1,
    "training.learning_rate": 0,
    "training.weight_decay": 0,
    "training.warmup": 0,
    "training.max_gradient_norm": 0,
    "training.evaluate_every": 0,
    "training.average": 0,
    "training.checkpoint_minutes": 0,
    "mproto.prototypes": 1,
    "mproto.alpha": 0,
    "mproto.denoise_after": 0,
    "mproto.beta": 0,
    "mproto.epsilon": 1e-6,
    "mproto.iterations": 1,
    "mproto.temperature": 1e-3,
    "mproto.compactness": 0,
    "mproto.dropout": 0,
    "tagger.dropout": 0,
}
_AT_MOST = {
    "training.epochs": 1e6,
    "training.average": 1,
    "mproto.alpha": 1,
    "mproto.denoise_after": 1,
    "mproto.beta": 1,
    "mproto.dropout": 0.99,
    "tagger.dropout": 0.99,
}


def _check_range(value: Any, name: str) -> None:
    if isinstance(value, str | bool):
        return
    least, most = _AT_LEAST.get(name), _AT_MOST.get(name)
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        wanted = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} is {value}, and must be {wanted}", hint="correct the value")


def _all_names() -> list[str]:
    names = []
    for name, value in Config().as_dict().items():
        names += [f"{name}.{key}" for key in value] if isinstance(value, dict) else [name]
    return names


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)
