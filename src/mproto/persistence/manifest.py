"""What the `config.json` of a model may say: it is looked at as a whole before anything is built on it.

Somebody may have edited it by hand, or another program written it; whatever is wrong is told by its key.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from mproto.errors import InputError
from mproto.text.tagging import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

AGAIN = "train or copy the model again"
EXPORT_AGAIN = "export the model again"
GRAPH = 1
"""The version of what a graph of ONNX takes and gives; it goes up whenever an older mproto could not use a newer graph."""


class Rule(NamedTuple):
    """What a value must be.

    Attributes:
        key: where it is; one inside another is behind a dot, and behind the rule of the other.
        fits: whether a value will do.
        wanted: what must be there, in words.
        needed: whether it must be there; models of older versions lack some.
    """

    key: str
    fits: Callable[[Any], bool]
    wanted: str
    needed: bool = True


def check_description(description: dict[str, Any], path: Path) -> None:
    """See to it that all that a description says can be.

    Args:
        description: what `config.json` holds, which is an object.
        path: where that is.

    Raises:
        InputError: something is missing, or of the wrong kind, or does not fit the rest.
    """
    if "onnx" not in description:
        _check(description, (*EVERY, *TORCH), path, AGAIN)
        return
    _check(description, VERSION, path, EXPORT_AGAIN)
    version = description["onnx"]["graph"]
    if version != GRAPH:
        what = f"was exported by mproto {description['mproto_version']}, as version {version} of its graphs"
        raise InputError(f"{what}; this mproto reads version {GRAPH}", path=path.parent, hint=EXPORT_AGAIN)
    _check(description, (*EVERY, *EXPORTED), path, EXPORT_AGAIN)
    labels, tags, prototypes = (description[key] for key in ("labels", "tags", "prototype_names"))
    if not any(tags == _tags(labels, prefixes) for prefixes in ("I", "BI")):
        raise _wrong("tags", tags, f"{OUTSIDE!r} and the tags of {', '.join(labels)}", path, EXPORT_AGAIN)
    if prototypes and not _are_prototypes(prototypes, labels):
        wanted = f"the prototypes of {OUTSIDE}, {', '.join(labels)}, from 1 on for each"
        raise _wrong("prototype_names", prototypes, wanted, path, EXPORT_AGAIN)


def _check(description: dict[str, Any], rules: Iterable[Rule], path: Path, again: str) -> None:
    for rule in rules:
        *outer, key = rule.key.split(".")
        inside = description
        for name in outer:
            inside = inside[name]
        if key not in inside:
            if rule.needed:
                raise InputError(f"is not a whole model: it says nothing of {rule.key!r}", path=path, hint=again)
        elif not rule.fits(inside[key]):
            raise _wrong(rule.key, inside[key], rule.wanted, path, again)


def _wrong(key: str, value: object, wanted: str, path: Path, again: str) -> InputError:
    return InputError(f"{key!r} is {value!r:.60}, and must be {wanted}", path=path, hint=again)


def _tags(labels: Sequence[str], prefixes: str) -> list[str]:
    return [OUTSIDE, *(f"{prefix}-{label}" for label in labels for prefix in prefixes)]


def _are_prototypes(names: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether these are one or more of each class, in order, each with its number."""
    starts = [place for place, name in enumerate(names) if name.endswith("-1")]
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


def _is_place(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_temperature(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < math.inf


VERSION = (
    Rule("mproto_version", _is_text, "a text"),
    Rule("onnx", _is_object, "an object"),
    Rule("onnx.graph", _is_count, "a whole number from 1 on"),
)
EVERY = (
    Rule("mproto_version", _is_text, "a text"),
    Rule("settings", _is_object, "an object"),
    Rule("labels", _are_types, "a list of different types"),
    Rule("encoder", _is_object, "an object"),
    Rule("encoder.name", _is_text, "a text"),
    Rule("files", _are_fingerprints, "an object with the fingerprints of files", needed=False),
    Rule("name_types", _are_texts, "a list of types", needed=False),
    Rule("card", lambda value: value is None or _is_object(value), "an object", needed=False),
)
TORCH = (
    Rule("encoder.config", _is_object, "an object"),
    Rule("encoder.config.model_type", _is_text, "a text"),
    Rule("calibration", _is_temperature, "a number above 0", needed=False),
    Rule("max_length", _is_count, "a whole number from 1 on", needed=False),
    Rule("reach", _is_count, "a whole number from 1 on", needed=False),  # `max_length` in version 0.1
)
EXPORTED = (
    Rule("onnx.int8", lambda value: isinstance(value, bool), "true or false"),
    Rule("tags", _are_texts, "a list of tags"),
    Rule("prototype_names", _are_texts, "a list of names"),
    Rule("tokens", _is_object, "an object"),
    Rule("tokens.unknown", _is_place, "the number of a sub-word"),
    Rule("tokens.pad", _is_place, "the number of a sub-word"),
    Rule("tokens.window", _is_count, "a whole number from 1 on"),
)
