"""Networks: encoders, batches, and one file per method.

The check for the required libraries is here so that it covers every module of the package. It does
not import them. If one is missing, importing any module of the package raises an error with the
pip command.
"""

from __future__ import annotations

from importlib.util import find_spec

from mproto.errors import MissingExtraError

if any(find_spec(library) is None for library in ("safetensors", "torch", "transformers")):
    raise MissingExtraError("A neural network", "train")
