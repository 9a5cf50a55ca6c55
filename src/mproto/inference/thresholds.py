"""How sure a model must be of an entity for somebody to want it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from numbers import Real  # numpy's numbers are some, too
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

Threshold = float | Mapping[str, float] | None


def thresholds(wanted: Threshold, labels: Sequence[str]) -> dict[str, float]:
    """The least score of each type.

    Args:
        wanted: one for all types, or one each for some; the others, and all without any, have none.
        labels: the types.

    Raises:
        InputError: there is no such type, or that is no score.
    """
    given: dict[str, Any] = (
        dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(labels, 0.0 if wanted is None else wanted)
    )
    for label, value in given.items():
        if label not in labels:
            near = difflib.get_close_matches(str(label), labels, 1)
            hint = f"did you mean {near[0]}?" if near else f"the model's types are {', '.join(labels)}"
            raise InputError(f"there is a threshold for {label!r}, which the model does not know", hint=hint)
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
            raise InputError(f"the threshold {value!r} is no score", hint="give a number from 0 to 1")
    return {label: float(given.get(label, 0.0)) for label in labels}
