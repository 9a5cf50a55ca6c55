"""Which methods there are."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from mproto.errors import InputError
from mproto.models.mproto import MProtoModel
from mproto.models.tagger import TaggerModel

if TYPE_CHECKING:
    from mproto.models.base import Model

METHODS: dict[str, type[Model]] = {"mproto": MProtoModel, "tagger": TaggerModel}


def get_method(name: str) -> type[Model]:
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, 1)
    raise InputError(
        f"there is no method {name!r}", hint=f"did you mean {near[0]}?" if near else f"choose from {', '.join(METHODS)}"
    )
