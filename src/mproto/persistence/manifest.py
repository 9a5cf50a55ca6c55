"""The rules for the `config.json` of a model.

The whole file is checked before a model is built from it, since it may have been edited by hand or
written by another program. Errors name the key of the wrong value.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from mproto.errors import InputError
from mproto.text.tagging import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

TRAIN_AGAIN = "train or copy the model again"
EXPORT_AGAIN = "export the model again"
GRAPH = 1
"""The version of the inputs and outputs of ONNX graphs; it increases whenever older versions of
mproto cannot use them."""
MAX_LENGTH = "max_length"
"""The key of the length of the longest training inputs, in sub-words."""
_MAX_LENGTH_0_1 = "reach"


class Rule(NamedTuple):
    """A condition that a value must meet.

    Attributes:
        key: the key. Keys of nested objects are joined by dots; the rule of an object comes before
            the rules of its values.
        is_valid: returns whether a value is valid.
        expected: the valid values, in words.
        required: whether the key must exist; models of older versions lack some keys.
    """

    key: str
    is_valid: Callable[[Any], bool]
    expected: str
    required: bool = True


def check_description(description: dict[str, Any], path: Path) -> None:
    """Check all values of a description.

    Args:
        description: the content of `config.json`, an object.
        path: that file.

    Raises:
        InputError: a value is missing, has the wrong type, or contradicts other values.
    """
    if "onnx" not in description:
        _check(description, (*EVERY, *TORCH), path, TRAIN_AGAIN)
        return
    _check(description, VERSION, path, EXPORT_AGAIN)
    version = description["onnx"]["graph"]
    if version != GRAPH:
        what = f"was exported by mproto {description['mproto_version']} as a graph of version {version}"
        raise InputError(f"{what}; this version reads graphs of version {GRAPH}", path=path.parent, hint=EXPORT_AGAIN)
    _check(description, (*EVERY, *EXPORTED), path, EXPORT_AGAIN)
    labels, tags, prototypes = (description[key] for key in ("labels", "tags", "prototype_names"))
    if not any(tags == _tags(labels, prefixes) for prefixes in ("I", "BI")):
        raise _wrong("tags", tags, f"{OUTSIDE!r} and the tags of {', '.join(labels)}", path, EXPORT_AGAIN)
    if prototypes and not _are_prototypes(prototypes, labels):
        expected = f"the prototypes of {OUTSIDE}, {', '.join(labels)}, each numbered from 1"
        raise _wrong("prototype_names", prototypes, expected, path, EXPORT_AGAIN)


def max_length_key(description: Mapping[str, Any]) -> str:
    """Return the key of the length of the longest training inputs; mproto 0.1 used another key."""
    return _MAX_LENGTH_0_1 if MAX_LENGTH not in description and _MAX_LENGTH_0_1 in description else MAX_LENGTH


def _check(description: dict[str, Any], rules: Iterable[Rule], path: Path, hint: str) -> None:
    for rule in rules:
        *outer, key = rule.key.split(".")
        inside = description
        for name in outer:
            inside = inside[name]
        if key not in inside:
            if rule.required:
                raise InputError(f"is not a complete model: {rule.key!r} is missing", path=path, hint=hint)
        elif not rule.is_valid(inside[key]):
            raise _wrong(rule.key, inside[key], rule.expected, path, hint)


def _wrong(key: str, value: object, expected: str, path: Path, hint: str) -> InputError:
    return InputError(f"{key!r} is {value!r:.60}, and must be {expected}", path=path, hint=hint)


def _tags(labels: Sequence[str], prefixes: str) -> list[str]:
    return [OUTSIDE, *(f"{prefix}-{label}" for label in labels for prefix in prefixes)]


def _are_prototypes(names: Sequence[str], labels: Sequence[str]) -> bool:
    """Return whether these are one or more prototypes of each class, in order and numbered."""
    starts = [index for index, name in enumerate(names) if name.endswith("-1")]
    sizes = [end - start for start, end in pairwise([*starts, len(names)])]
    classes = zip((OUTSIDE, *labels), sizes, strict=False)
    numbered = [f"{name}-{number}" for name, size in classes for number in range(1, size + 1)]
    return len(sizes) == 1 + len(labels) and list(names) == numbered


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_types(value: Any) -> bool:
    return _are_texts(value) and 0 < len(value) == len(set(value))


def _are_fingerprints(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_index(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_temperature(value: Any) -> bool:
    return _is_finite(value) and value > 0


VERSION = (
    Rule("mproto_version", _is_text, "a non-empty string"),
    Rule("onnx", _is_object, "an object"),
    Rule("onnx.graph", _is_count, "an integer of at least 1"),
)
EVERY = (
    Rule("mproto_version", _is_text, "a non-empty string"),
    Rule("settings", _is_object, "an object"),
    Rule("labels", _are_types, "a list of different entity types"),
    Rule("encoder", _is_object, "an object"),
    Rule("encoder.name", _is_text, "a non-empty string"),
    Rule("files", _are_fingerprints, "an object with the fingerprints of files", required=False),
    Rule("name_types", _are_texts, "a list of types", required=False),
    Rule("card", lambda value: value is None or _is_object(value), "an object", required=False),
)
TORCH = (
    Rule("encoder.config", _is_object, "an object"),
    Rule("encoder.config.model_type", _is_text, "a non-empty string"),
    Rule("calibration", _is_temperature, "a number above 0", required=False),
    Rule("entity_bias", _is_finite, "a number", required=False),
    Rule(MAX_LENGTH, _is_count, "an integer of at least 1", required=False),
    Rule(_MAX_LENGTH_0_1, _is_count, "an integer of at least 1", required=False),
)
EXPORTED = (
    Rule("onnx.int8", lambda value: isinstance(value, bool), "true or false"),
    Rule("tags", _are_texts, "a list of tags"),
    Rule("prototype_names", _are_texts, "a list of names"),
    Rule("tokens", _is_object, "an object"),
    Rule("tokens.unknown", _is_index, "the index of a sub-word"),
    Rule("tokens.pad", _is_index, "the index of a sub-word"),
    Rule("tokens.window", _is_count, "an integer of at least 1"),
)
