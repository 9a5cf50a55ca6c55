"""Load a Hugging Face encoder: from the embedded package, a folder, the local cache, and only then the hub.

Safetensors only and never code from a model's folder: a file that a user loads must not be able to run anything.
"""

from __future__ import annotations

import inspect
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import huggingface_hub
import transformers
from huggingface_hub import constants
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging

from mproto.errors import InputError, in_short
from mproto.io.hub_probe import hub_answers
from mproto.models.available import EMBEDDED, WEIGHTS, check_embedded, embedded_folder, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout")
"""What configs call it."""
LIST = "`mproto encoders` lists what is here"


def load_parts(name: str, attention_dropout: float) -> tuple[str, PreTrainedTokenizerBase, PreTrainedModel]:
    """Find and load an encoder; its name, its tokenizer and its network in float32.

    Args:
        name: of the hub, of a folder, or the embedded one's.
        attention_dropout: on its attention weights, in training. With any, PyTorch computes attention on a CPU in separate
            steps, each of which stores weights of all heads.
    """
    if name == EMBEDDED:
        folder = embedded_folder()
        check_embedded(folder)
        return name, *_load(name, str(folder), attention_dropout, local=True)
    folder = Path(name).expanduser()
    if folder.exists() or name.startswith((".", "~")) or folder.is_absolute() or not name:
        _check_folder(name, folder)
        return folder.resolve().name, *_load(name, str(folder), attention_dropout, local=True)
    if _is_cached(name):
        try:
            return name, *_load(name, name, attention_dropout, local=True)
        except _NotHereError:  # some of its files are not in the cache
            pass
    _ask_hub(name)
    return name, *_load(name, name, attention_dropout, local=False)


def network(config: PretrainedConfig) -> PreTrainedModel:
    """The architecture that a config describes, without its weights (they are random)."""
    model: PreTrainedModel = AutoModel.from_config(config, **_no_pooler(config))
    model.float()
    return model


@contextmanager
def quiet(*, progress: bool = False) -> Iterator[None]:
    """Keep transformers from reporting what is known and harmless, such as a pooler that is not loaded."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not progress:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


class _NotHereError(InputError):
    """A file is missing, or cannot be read, at the place that was asked."""


def _load(
    name: str, place: str, attention_dropout: float, *, local: bool
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    options: dict[str, Any] = {"local_files_only": local, "trust_remote_code": False}
    try:
        with quiet(progress=not local and sys.stderr.isatty()):
            config = AutoConfig.from_pretrained(place, **options)
            problem = why_not(config.to_dict())
            if problem:
                hint = "name an encoder such as bert-base-cased"
                raise InputError(f"{name!r} cannot be used: {problem}", hint=hint)
            for setting in ATTENTION_DROPOUT:
                if hasattr(config, setting):
                    setattr(config, setting, attention_dropout)
            tokenizer = load_tokenizer(name, place, **options)
            model, report = AutoModel.from_pretrained(
                place,
                config=config,
                use_safetensors=True,
                output_loading_info=True,
                **_no_pooler(config),
                **options,
            )
    except InputError:
        raise
    except OSError as error:
        what = f"encoder {name!r} cannot be loaded: {in_short(error)}"
        raise _NotHereError(what, hint=f"check its files, or fetch it again; {LIST}") from error
    except Exception as error:  # whatever a wrong file makes transformers, tokenizers or safetensors stumble over
        code = "trust_remote_code" in str(error)
        what = "it needs code of its own, which mproto never runs" if code else in_short(error)
        hint = "name an encoder that transformers knows" if code else "check its files, or fetch it again"
        raise InputError(f"encoder {name!r} cannot be loaded: {what}", hint=hint) from error
    _check_weights(name, report)
    _check_vocabulary(name, tokenizer, model)
    model.float()  # weights kept in half precision are for storing, not for training
    return tokenizer, model


def load_tokenizer(name: str, place: str, **options: Any) -> PreTrainedTokenizerBase:
    """A fast tokenizer that sees every word as one with a space before it, as in running text."""
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(place, add_prefix_space=True, **options)
    if not tokenizer.is_fast:
        what = f"the tokenizer of {name!r} ({type(tokenizer).__name__}) exists in slow Python only"
        raise InputError(what, hint="name an encoder with a fast tokenizer (a tokenizer.json)")
    splitter = tokenizer.backend_tokenizer.pre_tokenizer
    if isinstance(splitter, ByteLevel):  # not every class passes the option on (ModernBERT's does not)
        splitter.add_prefix_space = True
    return tokenizer


def _check_folder(name: str, folder: Path) -> None:
    if not folder.is_dir() or not name:
        raise InputError(f"encoder {name!r} is no folder", hint=f"give a folder that save_pretrained wrote; {LIST}")
    if not (folder / "config.json").is_file():
        raise InputError("holds no config.json", path=folder, hint="give a folder that save_pretrained wrote")
    if not any((folder / file).is_file() for file in WEIGHTS):
        hint = "write it again as safetensors: AutoModel.from_pretrained(folder).save_pretrained(folder)"
        raise InputError("holds no model.safetensors; other files of weights are not read", path=folder, hint=hint)


def _is_cached(name: str) -> bool:
    """Whether the cache has config and weights. Asked first: for absent safetensors, transformers would go online."""
    try:
        here = {file: huggingface_hub.try_to_load_from_cache(name, file) for file in ("config.json", *WEIGHTS)}
    except HFValidationError:
        hint = f"give {EMBEDDED}, a folder, or a name such as bert-base-cased; {LIST}"
        raise InputError(f"encoder {name!r} is no folder and no name of the Hugging Face hub", hint=hint) from None
    return isinstance(here["config.json"], str) and any(isinstance(here[file], str) for file in WEIGHTS)


def _ask_hub(name: str) -> None:
    """Check that the hub answers and has the model."""
    offline = f"connect to the Hugging Face hub, or give the folder of an encoder; {LIST}"
    if constants.HF_HUB_OFFLINE:
        raise InputError(
            f"encoder {name!r} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it", hint=offline
        )
    no_answer = f"encoder {name!r} is not on this machine, and the Hugging Face hub does not answer"
    try:
        answers = hub_answers(name)
    except RepositoryNotFoundError as error:  # gated ones too
        what = f"encoder {name!r} is not on this machine, and the Hugging Face hub has none of that name for you"
        raise InputError(what, hint=f"check its spelling, or `hf auth login` if it is private; {LIST}") from error
    except Exception as error:  # the classes of errors differ between versions of the hub's library
        raise InputError(no_answer, hint=offline) from error
    if not answers:
        raise InputError(no_answer, hint=offline)


def _no_pooler(config: PretrainedConfig) -> dict[str, bool]:
    """Leave out the pooler, which no loss would ever reach, where the architecture can."""
    architecture = transformers.MODEL_MAPPING[type(config)]
    can = "add_pooling_layer" in inspect.signature(architecture.__init__).parameters
    return {"add_pooling_layer": False} if can else {}


def _check_weights(name: str, report: dict[str, Any]) -> None:
    """Transformers fills gaps with random numbers and goes on; a result would be worth nothing."""
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        what = f"the weights of {name!r} lack {len(missing)} of the network's tensors, {missing[0]} first"
        raise InputError(what, hint="its config.json and model.safetensors do not belong together; fetch it again")


def _check_vocabulary(name: str, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Where tokenizer files are missing, transformers makes up a tokenizer that knows no word."""
    known, rows = len(tokenizer), model.get_input_embeddings().num_embeddings
    if not rows / 2 < known <= rows:  # some networks have rows to spare, rounded up
        what = f"the tokenizer of {name!r} knows {known:,} sub-words, its network {rows:,}"
        raise InputError(what, hint="tokenizer files are missing or another model's; fetch it again")
