"""Encoders for tests: the bundled one, loaded once, and a tiny generated RoBERTa."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import RobertaConfig, RobertaModel

from mproto.errors import MissingExtraError
from mproto.models.encoder import Encoder

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
ROWS = 300


@cache
def embedded() -> Encoder:
    try:
        return Encoder.load()
    except MissingExtraError as error:
        pytest.skip(str(error))


def write_roberta(folder: Path, positions: int = 20, dropout: float = 0.1) -> Path:
    """Write a byte-level encoder with random weights, always the same, and offset positions."""
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([" hello world this is a text of words"] * 20, ROWS, special_tokens=SPECIAL)
    tokenizer.save_model(str(folder))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}')
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=ROWS,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=37,
        max_position_embeddings=positions,
        pad_token_id=1,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def plain_features(encoder: Encoder, words: list[str]) -> tuple[list[int | None], Tensor]:
    """The oracle, from transformers: the word of each position, and hidden states (T, d)."""
    inputs = encoder.tokenizer([words], is_split_into_words=True, return_tensors="pt")
    with torch.inference_mode():
        return inputs.word_ids(0), encoder.model(**inputs).last_hidden_state[0]
