"""The encoder: a Hugging Face encoder with a fast tokenizer, which computes a feature of each word.

Example:
    encoder = Encoder.load(EMBEDDED)
    windows = make_windows(sentences, encoder.tokens, encoder.window)
    features = encoder(collate(windows, encoder.pad_id))  # (W, d): words, size of a feature
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import AutoConfig

from mproto.encoding.shapes import Shape, keeps_case
from mproto.encoding.tokens import Tokens
from mproto.errors import InputError, in_short
from mproto.models.available import EMBEDDED, Available, available
from mproto.models.loading import build_network, load_parts, load_tokenizer, quiet
from mproto.models.precision import mixed_precision

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from mproto.models.batch import Batch

__all__ = ["EMBEDDED", "Available", "Encoder", "available"]

USUAL_WINDOW = 512
"""The window of encoders whose config has no limit."""


class Encoder(nn.Module):
    """A pre-trained network. The feature of a word is the last hidden state of its first sub-word.

    The encoder is in evaluation mode until `train()` is called.

    Attributes:
        name: the name of the encoder, or of its folder.
        tokenizer: the fast tokenizer of transformers.
        tokens: the same tokenizer, from words to sub-words.
        model: the network, without a pooler.
        hidden_size: d, the size of a feature.
        window: maximum number of sub-words of an input, special tokens included.
        pad_id: the padding sub-word.
        mixed: whether the network uses mixed precision with bfloat16. Features are float32 in any
            case.
        shapes: embeddings of word shapes, which are added to the embeddings of sub-words if the
            tokenizer ignores case. They are initialised to 0. `None` for cased tokenizers.
    """

    mixed = False

    def __init__(
        self, name: str, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, shapes: bool = True
    ) -> None:
        super().__init__()
        self.name = name
        self.tokenizer = tokenizer
        self.model = model
        self.hidden_size: int = model.config.hidden_size
        self.window = _window(tokenizer, model)
        self.pad_id: int = tokenizer.pad_token_id or 0
        self.tokens = Tokens(tokenizer.backend_tokenizer, unknown=_unknown(tokenizer), pad=self.pad_id)
        self.shapes: nn.Embedding | None = None
        if shapes and not keeps_case(self.tokens):
            dimension = model.get_input_embeddings().embedding_dim
            self.shapes = nn.Embedding.from_pretrained(torch.zeros(len(Shape), dimension), freeze=False)  # type: ignore[no-untyped-call]
        self.eval()

    @classmethod
    def load(cls, name_or_path: str = EMBEDDED, *, shapes: bool = True, attention_dropout: float = 0.0) -> Self:
        """Load a pre-trained encoder.

        Args:
            name_or_path: the bundled encoder, a folder that `save_pretrained` wrote, or a name on
                the Hugging Face hub. Local files are preferred to a download.
            shapes: whether to add word shapes if the tokenizer ignores case.
            attention_dropout: the dropout on attention weights, in training.

        Raises:
            InputError: the encoder does not exist or cannot be used. There are no retries.
        """
        return cls(*load_parts(name_or_path, attention_dropout), shapes=shapes)

    @classmethod
    def from_files(cls, config: dict[str, Any], folder: Path, name: str, *, shapes: bool = True) -> Self:
        """Build an encoder with random weights from files; the caller loads its weights.

        Args:
            config: the return value of `save_files`.
            folder: the folder with the tokenizer.
            name: the name of the encoder.
            shapes: whether to add word shapes if the tokenizer ignores case.

        Raises:
            InputError: the tokenizer is not a fast one.
            ValueError: the tokenizer cannot be read.
        """
        config = dict(config)
        with quiet():
            try:
                tokenizer = load_tokenizer(name, str(folder), local_files_only=True, trust_remote_code=False)
            except InputError:
                raise
            except Exception as error:  # damaged files raise various errors in transformers and tokenizers
                raise ValueError(f"its tokenizer cannot be read ({in_short(error)})") from error
            return cls(
                name, tokenizer, build_network(AutoConfig.for_model(config.pop("model_type"), **config)), shapes=shapes
            )

    def save_files(self, folder: Path) -> dict[str, Any]:
        """Write the tokenizer's files, and return the Hugging Face config as JSON values.

        Neither contains paths of this machine.
        """
        self.tokenizer.save_pretrained(folder)
        config: dict[str, Any] = self.model.config.to_dict()
        config.pop("_name_or_path", None)
        return config

    def forward(self, batch: Batch) -> Tensor:
        """Return the features (W, d) of the batch's own words."""
        return self.hidden(batch)[batch.rows, batch.columns]  # (B, T, d) -> (W, d)

    def hidden(self, batch: Batch) -> Tensor:
        """Return the last hidden states (B, T, d) of all sub-words, padding included."""
        inputs = {"input_ids": batch.input_ids}
        if self.shapes is not None:
            inputs = {"inputs_embeds": self.model.get_input_embeddings()(batch.input_ids) + self.shapes(batch.shapes)}
        with mixed_precision(batch.input_ids.device) if self.mixed else nullcontext():
            output = self.model(**inputs, attention_mask=batch.attention_mask)
        hidden: Tensor = output.last_hidden_state.float()
        return hidden


def _window(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> int:
    """Return the lower limit: that of the tokenizer (1e30 for none) or of the position embeddings."""
    positions = getattr(model.config, "max_position_embeddings", None) or USUAL_WINDOW
    for module_name, module in model.named_modules():
        # RoBERTa and similar encoders start to count after the padding position
        if module_name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            positions -= 0 if module.padding_idx is None else module.padding_idx + 1
    return int(min(positions, tokenizer.model_max_length))


def _unknown(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the sub-word for words without sub-words."""
    candidates = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.pad_token_id)
    return next((id for id in candidates if id is not None), 0)
