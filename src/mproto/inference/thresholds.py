"""Score thresholds: the lowest score that an entity may have to be returned."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from numbers import Real  # numpy's numbers are registered as Real
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

Threshold = float | Mapping[str, float] | None


def thresholds(wanted: Threshold, labels: Sequence[str]) -> dict[str, float]:
    """Return the lowest score of each type.

    Args:
        wanted: one threshold for all types, or a mapping from types to thresholds. Types that the
            mapping leaves out have no threshold (0). With `None`, no type has one.
        labels: all types.

    Raises:
        InputError: the model has no such type, or a threshold is not a score.
    """
    given: dict[str, Any] = (
        dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(labels, 0.0 if wanted is None else wanted)
    )
    for label, value in given.items():
        if label not in labels:
            near = difflib.get_close_matches(str(label), labels, 1)
            hint = f"did you mean {near[0]}?" if near else f"the model's types are {', '.join(labels)}"
            raise InputError(f"there is a threshold for {label!r}, but the model has no such type", hint=hint)
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
            raise InputError(f"the threshold {value!r} is not a score", hint="give a number from 0 to 1")
    return {label: float(given.get(label, 0.0)) for label in labels}
