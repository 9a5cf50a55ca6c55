"""How long training takes: the number of steps by the size of the data, and what a time limit is based on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mproto.config.settings import Training

STEPS = 65
"""With `epochs = auto`, the number of steps is this times the square root of the number of batches in an epoch: small data
get more epochs, large data more steps."""
MOST_STEPS = 600
"""Maximum number of steps, with `epochs = auto`, of each of the models whose weights are averaged after cross-fitting. More
would gain little."""
TIMED = range(4, 13)
"""The steps whose duration decides how many steps a run of so many minutes has. The first ones are slower than the rest."""
PREDICTION = 0.35
"""Time to predict a batch, relative to that of a training step."""


def planned_steps(settings: Training, per_epoch: int) -> int:
    """Return the number of steps of a stage whose share is 1.

    Args:
        settings: the settings of the loop.
        per_epoch: the number of batches of an epoch.
    """
    usual = STEPS * math.sqrt(per_epoch) if settings.epochs == "auto" else settings.epochs * per_epoch
    return max(math.ceil(usual), settings.min_steps, 1)
