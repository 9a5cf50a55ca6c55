"""Load a Hugging Face encoder from the embedded package, a folder, the cache, or else the hub.

Only safetensors are read, and code in a model's folder is never run, so that loading a model is
safe.
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
from mproto.models.available import EMBEDDED, WEIGHTS, check_embedded, embedded_folder, why_unusable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout")
"""Names of the setting in Hugging Face configs."""
LIST = "`mproto encoders` lists the encoders on this machine"


def load_parts(name: str, attention_dropout: float) -> tuple[str, PreTrainedTokenizerBase, PreTrainedModel]:
    """Find and load an encoder.

    Args:
        name: the bundled encoder, a folder, or a name on the hub.
        attention_dropout: the dropout on attention weights, in training. With dropout, PyTorch has
            no fused attention on a CPU, and stores the attention weights of all heads.

    Returns:
        Its name, its tokenizer, and its network in float32.

    Raises:
        InputError: the encoder does not exist, or cannot be used.
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
        except _MissingFileError:  # some of its files are not in the cache
            pass
    _ask_hub(name)
    return name, *_load(name, name, attention_dropout, local=False)


def build_network(config: PretrainedConfig) -> PreTrainedModel:
    """Build a network from its config, with random weights."""
    model: PreTrainedModel = AutoModel.from_config(config, **_no_pooler(config))
    model.float()
    return model


@contextmanager
def quiet(*, progress: bool = False) -> Iterator[None]:
    """Suppress expected warnings of transformers, for example about a pooler that is not loaded.

    Args:
        progress: whether to show progress bars.
    """
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


class _MissingFileError(InputError):
    """A file of the encoder is missing or cannot be read."""


def _load(
    name: str, location: str, attention_dropout: float, *, local: bool
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    options: dict[str, Any] = {"local_files_only": local, "trust_remote_code": False}
    try:
        with quiet(progress=not local and sys.stderr.isatty()):
            config = AutoConfig.from_pretrained(location, **options)
            problem = why_unusable(config.to_dict())
            if problem:
                hint = "name an encoder, for example bert-base-cased"
                raise InputError(f"{name!r} cannot be used: {problem}", hint=hint)
            for setting in ATTENTION_DROPOUT:
                if hasattr(config, setting):
                    setattr(config, setting, attention_dropout)
            tokenizer = load_tokenizer(name, location, **options)
            model, report = AutoModel.from_pretrained(
                location,
                config=config,
                use_safetensors=True,
                output_loading_info=True,
                **_no_pooler(config),
                **options,
            )
    except InputError:
        raise
    except OSError as error:
        problem = f"encoder {name!r} cannot be loaded: {in_short(error)}"
        raise _MissingFileError(problem, hint=f"check its files, or download it again; {LIST}") from error
    except Exception as error:  # damaged files raise various errors in the libraries
        code = "trust_remote_code" in str(error)
        problem = "it needs custom code, which mproto never runs" if code else in_short(error)
        hint = "name an encoder that transformers supports" if code else "check its files, or download it again"
        raise InputError(f"encoder {name!r} cannot be loaded: {problem}", hint=hint) from error
    _check_weights(name, report)
    _check_vocabulary(name, tokenizer, model)
    model.float()  # train in float32, even if the weights are stored in half precision
    return tokenizer, model


def load_tokenizer(name: str, location: str, **options: Any) -> PreTrainedTokenizerBase:
    """Load a fast tokenizer that treats each word as if a space came before it, as in running text.

    Raises:
        InputError: there is no fast tokenizer.
    """
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(location, add_prefix_space=True, **options)
    if not tokenizer.is_fast:
        problem = f"the tokenizer of {name!r} ({type(tokenizer).__name__}) has no fast version"
        raise InputError(problem, hint="name an encoder with a fast tokenizer (a tokenizer.json)")
    splitter = tokenizer.backend_tokenizer.pre_tokenizer
    if isinstance(splitter, ByteLevel):  # some tokenizers ignore add_prefix_space (ModernBERT)
        splitter.add_prefix_space = True
    return tokenizer


def _check_folder(name: str, folder: Path) -> None:
    if not folder.is_dir() or not name:
        raise InputError(f"encoder {name!r} is not a folder", hint=f"give a folder that save_pretrained wrote; {LIST}")
    if not (folder / "config.json").is_file():
        raise InputError("has no config.json", path=folder, hint="give a folder that save_pretrained wrote")
    if not any((folder / file).is_file() for file in WEIGHTS):
        hint = "convert it to safetensors: AutoModel.from_pretrained(folder).save_pretrained(folder)"
        raise InputError("has no model.safetensors, and other weight files are not read", path=folder, hint=hint)


def _is_cached(name: str) -> bool:
    """Return whether the cache has the config and safetensors.

    This is checked first, because transformers would go online for missing safetensors.
    """
    try:
        cached = {file: huggingface_hub.try_to_load_from_cache(name, file) for file in ("config.json", *WEIGHTS)}
    except HFValidationError:
        hint = f"give {EMBEDDED}, a folder, or a hub name, for example bert-base-cased; {LIST}"
        raise InputError(
            f"encoder {name!r} is neither a folder nor a name on the Hugging Face hub", hint=hint
        ) from None
    return isinstance(cached["config.json"], str) and any(isinstance(cached[file], str) for file in WEIGHTS)


def _ask_hub(name: str) -> None:
    """Check that the hub has the model, in one short request.

    Transformers would retry for minutes, for every file.

    Raises:
        InputError: the hub does not have the model, or does not answer.
    """
    offline = f"check the internet connection, or give the folder of an encoder; {LIST}"
    if constants.HF_HUB_OFFLINE:
        raise InputError(
            f"encoder {name!r} is not on this machine, and HF_HUB_OFFLINE is set, so it is not downloaded", hint=offline
        )
    no_answer = f"encoder {name!r} is not on this machine, and the Hugging Face hub does not answer"
    try:
        answers = hub_answers(name)
    except RepositoryNotFoundError as error:  # gated ones too
        problem = (
            f"encoder {name!r} is not on this machine, and not on the Hugging Face hub, or you have no access to it"
        )
        raise InputError(problem, hint=f"check its name, or run `hf auth login` if it is private; {LIST}") from error
    except Exception as error:  # the classes of errors differ between versions of the hub's library
        raise InputError(no_answer, hint=offline) from error
    if not answers:
        raise InputError(no_answer, hint=offline)


def _no_pooler(config: PretrainedConfig) -> dict[str, bool]:
    """Return the option that leaves out the unused pooler, if the network has one."""
    architecture = transformers.MODEL_MAPPING[type(config)]
    has_option = "add_pooling_layer" in inspect.signature(architecture.__init__).parameters
    return {"add_pooling_layer": False} if has_option else {}


def _check_weights(name: str, report: dict[str, Any]) -> None:
    """Check that no weights are missing, because transformers would initialise them at random.

    Raises:
        InputError: weights are missing.
    """
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        problem = f"{len(missing)} tensors are missing from the weights of {name!r}, the first is {missing[0]}"
        raise InputError(problem, hint="its config.json and model.safetensors do not match; download it again")


def _check_vocabulary(name: str, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Check the size of the vocabulary.

    If tokenizer files are missing, transformers makes up an empty tokenizer.

    Raises:
        InputError: the tokenizer does not match the network.
    """
    known, rows = len(tokenizer), model.get_input_embeddings().num_embeddings
    if not rows / 2 < known <= rows:  # some networks have more rows than sub-words, a round number
        problem = f"the tokenizer of {name!r} has {known:,} sub-words, but its network has {rows:,}"
        raise InputError(problem, hint="tokenizer files are missing or belong to another model; download it again")
