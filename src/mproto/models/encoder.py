"""The encoder: any Hugging Face encoder with a fast tokenizer, from words to one feature each.

encoder = Encoder.load(EMBEDDED)
windows = make_windows(sentences, encoder.tokens, encoder.window)
features = encoder(collate(windows, encoder.pad_id))            # (W, d)

where W is the number of words and d the size of a feature.
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
from mproto.models.loading import load_parts, load_tokenizer, network, quiet
from mproto.models.precision import mixed_precision

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from mproto.models.batch import Batch

__all__ = ["EMBEDDED", "Available", "Encoder", "available"]

USUAL_WINDOW = 512  # for the few encoders that state no limit


class Encoder(nn.Module):
    """A pre-trained network that gives every word a feature: the last hidden state of its first sub-word.

    It is in evaluation mode until `train()` is called.

    Attributes:
        name: its name, or the name of its folder.
        tokenizer: its fast tokenizer.
        tokens: what that makes of words.
        model: its network, without a pooler.
        hidden_size: d, the size of a feature.
        window: the most sub-words of one input, special tokens included.
        pad_id: the sub-word that fills up shorter inputs.
        mixed: whether the network computes in bfloat16 where that will do; features are float32 all the same.
        shapes: what is added to the embeddings of sub-words for how their words are written, where the tokenizer throws
            letter case away and nothing else would tell; 0 at first.
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
        """The embedded encoder, a folder that `save_pretrained` wrote, or a name of the Hugging Face hub.

        What is on this machine is taken first; a missing encoder is an `InputError`, at once and not after retries.
        """
        return cls(*load_parts(name_or_path, attention_dropout), shapes=shapes)

    @classmethod
    def from_files(cls, config: dict[str, Any], folder: Path, name: str, *, shapes: bool = True) -> Self:
        """The architecture that `save_files` described, with random weights: the caller loads the right ones.

        Args:
            config: what `save_files` returned.
            folder: where it wrote the tokenizer.
            name: the encoder's name.
            shapes: whether it is told how words are written, where it cannot see that.
        """
        config = dict(config)
        with quiet():
            try:
                tokenizer = load_tokenizer(name, str(folder), local_files_only=True, trust_remote_code=False)
            except InputError:
                raise
            except Exception as error:  # whatever a wrong file makes transformers and tokenizers stumble over
                raise ValueError(f"its tokenizer cannot be read ({in_short(error)})") from error
            return cls(
                name, tokenizer, network(AutoConfig.for_model(config.pop("model_type"), **config)), shapes=shapes
            )

    def save_files(self, folder: Path) -> dict[str, Any]:
        """Write the tokenizer's files; the Hugging Face config, for JSON. Neither says where on a disk they came from."""
        self.tokenizer.save_pretrained(folder)
        config: dict[str, Any] = self.model.config.to_dict()
        config.pop("_name_or_path", None)
        return config

    def forward(self, batch: Batch) -> Tensor:
        """Features (W, d) of the batch's own words, in its order."""
        return self.hidden(batch)[batch.rows, batch.columns]  # (B, T, d) -> (W, d)

    def hidden(self, batch: Batch) -> Tensor:
        """The last hidden states (B, T, d) of all sub-words of B inputs, filling included."""
        inputs = {"input_ids": batch.input_ids}
        if self.shapes is not None:
            inputs = {"inputs_embeds": self.model.get_input_embeddings()(batch.input_ids) + self.shapes(batch.shapes)}
        with mixed_precision(batch.input_ids.device) if self.mixed else nullcontext():
            output = self.model(**inputs, attention_mask=batch.attention_mask)
        hidden: Tensor = output.last_hidden_state.float()
        return hidden


def _window(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> int:
    """The smaller of what the tokenizer and the position embeddings allow; a tokenizer without a limit says 1e30."""
    places = getattr(model.config, "max_position_embeddings", None) or USUAL_WINDOW
    for module_name, module in model.named_modules():
        # RoBERTa and its kin count positions from behind the padding's own
        if module_name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            places -= 0 if module.padding_idx is None else module.padding_idx + 1
    return int(min(places, tokenizer.model_max_length))


def _unknown(tokenizer: PreTrainedTokenizerBase) -> int:
    """The sub-word for what has none."""
    candidates = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.pad_token_id)
    return next((id for id in candidates if id is not None), 0)
