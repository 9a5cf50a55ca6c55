"""Read the configuration of a run from presets, TOML files and `section.key=value` strings.

Unknown keys and invalid values are errors; the message names the setting that was probably meant.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mproto.config import legacy
from mproto.config.settings import (
    AutoNER,
    EarlyStopping,
    MProto,
    NegativeSampling,
    PositiveUnlabelled,
    SelfTraining,
    Training,
    number,
)
from mproto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mproto.config.settings import Range

PRESETS = ("default", "paper", "published")

T = TypeVar("T")

_NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Config:
    """The configuration of a run.

    Attributes:
        method: the method to train: `mproto` or a baseline.
        encoder: `all-MiniLM-L6-v2` (bundled), a folder, or a name on the Hugging Face hub.
        word_shapes: add an embedding of the word shape (capitals, digits) if the tokenizer lowercases its input.
        dropout: dropout on the word features during training.
        attention_dropout: dropout on the encoder's attention weights during training; 0 is faster on a CPU.
    """

    method: str = "mproto"
    encoder: str = "all-MiniLM-L6-v2"
    word_shapes: bool = True
    dropout: float = number(0.1, 0, 0.99)
    attention_dropout: float = number(0.0, 0, 0.99)
    training: Training = field(default_factory=Training)
    mproto: MProto = field(default_factory=MProto)
    early_stopping: EarlyStopping = field(default_factory=EarlyStopping)
    negative_sampling: NegativeSampling = field(default_factory=NegativeSampling)
    positive_unlabelled: PositiveUnlabelled = field(default_factory=PositiveUnlabelled)
    autoner: AutoNER = field(default_factory=AutoNER)
    self_training: SelfTraining = field(default_factory=SelfTraining)

    def as_dict(self) -> dict[str, Any]:
        """Return all settings, nested by section."""
        return {
            f.name: {g.name: getattr(value, g.name) for g in fields(value)} if is_dataclass(value) else value
            for f in fields(self)
            for value in [getattr(self, f.name)]
        }

    def with_values(self, values: Mapping[str, Any], path: Path | str | None = None) -> Config:
        """Return a copy with some settings changed.

        Args:
            values: nested by section, as in a TOML file.
            path: the file they come from, for error messages.

        Raises:
            InputError: a setting does not exist, or a value is invalid.
        """
        try:
            return _changed(self, values, "")
        except InputError as error:
            raise error.at(path) if path else error from None

    def to_toml(self) -> str:
        """Return all settings as TOML, which `load_config` can read."""
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
    """Return the configuration of a run: the preset, overridden by the file, then by single settings.

    Args:
        preset: `default`, `paper` or `published`.
        file: a TOML file.
        settings: strings of the form `section.key=value`, as given to `--set`.
        values: top-level settings such as `method`; `None` leaves a setting unchanged.

    Raises:
        InputError: a setting does not exist, or a value is invalid.
    """
    config = Config()
    if preset not in PRESETS:
        raise InputError(f"there is no preset {preset!r}", hint=f"choose from {', '.join(PRESETS)}")
    if preset != "default":
        config = config.with_values(
            tomllib.loads((files("mproto.config.presets") / f"{preset}.toml").read_text("utf-8"))
        )
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
        value = text  # strings need no quotes on the command line
    values: dict[str, Any] = {}
    *sections, key = name.strip().split(".")
    inner = values
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[key] = value
    return values


def _changed(settings: T, values: Mapping[str, Any], section: str) -> T:
    kinds = get_type_hints(type(settings))
    ranges = {f.name: f.metadata.get("range") for f in fields(settings)}  # type: ignore[arg-type]
    changes = {}
    for key, value in values.items():
        name = f"{section}{key}"
        if key not in kinds:
            name += f".{next(iter(value))}" if isinstance(value, dict) and value else ""  # a key of an unknown section
            raise InputError(f"there is no setting {name!r}", hint=legacy.hint(name) or _nearest(name, section, kinds))
        if is_dataclass(kinds[key]):
            if not isinstance(value, dict):
                raise InputError(f"{name} is a section, not a value", hint=f"set one of its keys: {name}.key")
            changes[key] = _changed(getattr(settings, key), value, f"{name}.")
        else:
            changes[key] = _checked(value, kinds[key], name)
            if isinstance(changes[key], dict) and isinstance(old := getattr(settings, key), dict):
                changes[key] = {**old, **changes[key]}
            _check_range(changes[key], name, ranges.get(key))
    return replace(settings, **changes)  # type: ignore[type-var]


def _nearest(name: str, section: str, keys: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, _all_names(), 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"choose from {', '.join(section + key for key in keys)}"


def _checked(value: Any, kind: Any, name: str) -> Any:
    """Return the value if it has the right type; integers are accepted as floats."""
    if get_origin(kind) is Union:
        other, word = get_args(kind)
        if isinstance(value, str) and value in get_args(word):
            return value
        if other is float and type(value) in (int, float):
            return float(value)
        if other is int and type(value) is int:
            return value
        if other not in _NUMBERS and isinstance(value, dict):
            return {key: _checked(inner, float, f"{name}.{key}") for key, inner in value.items()}
        expected = f"{_NUMBERS.get(other, 'a number for each type')} or {', '.join(get_args(word))}"
    elif get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        expected = f"one of {', '.join(get_args(kind))}"
    elif kind is float and type(value) in (int, float):
        return float(value)
    elif type(value) is kind:
        return value
    else:
        expected = {**_NUMBERS, bool: "true or false", str: "a string"}[kind]
    raise InputError(f"{name} is {value!r}, and must be {expected}", hint="correct the value")


def _check_range(value: Any, name: str, allowed: Range | None) -> None:
    if allowed is None or isinstance(value, str | bool):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_range(inner, f"{name}.{key}", allowed)
    elif value not in allowed:
        raise InputError(f"{name} is {value}, and must be {allowed}", hint="correct the value")


def _all_names() -> list[str]:
    names = []
    for name, value in Config().as_dict().items():
        names += [f"{name}.{key}" for key in value] if isinstance(value, dict) else [name]
    return names


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # a JSON string is a valid TOML string
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return repr(value)
