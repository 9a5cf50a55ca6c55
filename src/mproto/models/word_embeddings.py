"""What an encoder makes of single words, read one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.encoding.plan import CPU_TOKEN_BUDGET
from mproto.models.batch import collate, make_windows, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mproto.models.encoder import Encoder

LONGEST = 32
"""Sub-words of a word that are read."""


@torch.no_grad()
def meanings(encoder: Encoder, words: Sequence[str]) -> Tensor:
    """(V, d), for each of V words the mean of what the encoder makes of its sub-words, on the encoder's device.

    Encoders for sentences are trained so that such means are alike where texts mean alike; with others they are, too, only
    less so. The encoder must be in evaluation mode.

    Args:
        encoder: as it came, not trained further.
        words: any.
    """
    device = next(encoder.parameters()).device
    windows = make_windows([[word] for word in words], encoder.tokens, min(LONGEST, encoder.window))
    found = torch.zeros(len(words), encoder.hidden_size, device=device)
    lengths = [len(window.input_ids) for window in windows]
    for places in plan(lengths, batch_size=CPU_TOKEN_BUDGET, token_budget=CPU_TOKEN_BUDGET):
        batch = collate([windows[place] for place in places], encoder.pad_id).to(device)
        inside = batch.attention_mask.unsqueeze(-1)
        found[places] = (encoder.hidden(batch) * inside).sum(1) / inside.sum(1)
    return found
