"""Networks: encoders, batches, and one file per system. The only layer, with `method` below it, that knows torch.

Looking for the libraries here, without importing them, covers every file of the package: whoever reaches for a network
on an installation that has none is told the pip line.
"""

from __future__ import annotations

from importlib.util import find_spec

from mproto.errors import MissingExtraError

if any(find_spec(library) is None for library in ("safetensors", "torch", "transformers")):
    raise MissingExtraError("A neural network", "train")
