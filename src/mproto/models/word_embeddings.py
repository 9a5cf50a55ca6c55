"""Word embeddings: an encoder's features of single words without context."""

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
"""Maximum number of sub-words of a word. Longer words are truncated."""


@torch.no_grad()
def word_embeddings(encoder: Encoder, words: Sequence[str]) -> Tensor:
    """Return embeddings (V, d) of V words: the mean hidden states, on the encoder's device.

    Sentence encoders are trained so that texts with a similar meaning have similar means. Other
    encoders have this property, too, but less so.

    Args:
        encoder: a pre-trained encoder before fine-tuning, in evaluation mode.
        words: the words.
    """
    device = next(encoder.parameters()).device
    windows = make_windows([[word] for word in words], encoder.tokens, min(LONGEST, encoder.window))
    embeddings = torch.zeros(len(words), encoder.hidden_size, device=device)
    lengths = [len(window.input_ids) for window in windows]
    for indices in plan(lengths, batch_size=CPU_TOKEN_BUDGET, token_budget=CPU_TOKEN_BUDGET):
        batch = collate([windows[index] for index in indices], encoder.pad_id).to(device)
        inside = batch.attention_mask.unsqueeze(-1)
        embeddings[indices] = (encoder.hidden(batch) * inside).sum(1) / inside.sum(1)
    return embeddings
