"""Save a recogniser to a folder, and load it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mproto.config import Config, legacy
from mproto.errors import InputError, MissingExtraError
from mproto.io.atomic import atomic_folder
from mproto.persistence.card import NAMES
from mproto.persistence.files import CONFIG, MENTIONS, check_files, read_description, write_description
from mproto.persistence.manifest import TRAIN_AGAIN, max_length_key
from mproto.persistence.mentions import load_mentions, save_mentions
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mproto.inference.mentions import Mentions
    from mproto.inference.tagger import Tagger
    from mproto.models.base import Model
    from mproto.persistence.onnx_model import OnnxModel


class SavedModel(NamedTuple):
    """The content of a model folder.

    Attributes:
        tagger: the network, which tags words.
        config: the settings of the training run.
        card: further entries of the model card.
        mentions: example mentions, if it has any.
        name_types: entity types whose terms were matched as names in training; None if no terms
            were matched.
        fingerprint: identifies its files.
    """

    tagger: Tagger
    config: Config
    card: dict[str, Any]
    mentions: Mentions | None
    name_types: frozenset[str] | None
    fingerprint: str


def save(
    folder: Path,
    tagger: Tagger,
    config: Config,
    card: Mapping[str, Any],
    mentions: Mentions | None,
    readme: str,
    *,
    name_types: Iterable[str] | None = None,
) -> None:
    """Write a recogniser.

    All files of the model are replaced at once. Files that do not belong to a model are kept.

    Args:
        folder: created if it does not exist; it may be the folder that the tagger was loaded from.
        tagger: the network, which tags words.
        config: the settings of the training run.
        card: further entries of the model card.
        mentions: example mentions, or None, which deletes those of an older model.
        readme: the model card.
        name_types: entity types whose terms were matched as names in training.

    Raises:
        InputError: the files of an exported model have changed since it was loaded.
        OSError: it cannot be written.
    """
    with atomic_folder(folder, discard=(MENTIONS,)) as staging:
        parts = _save_tagger(tagger, staging)
        if mentions is not None:
            save_mentions(mentions, staging)
        names = {} if name_types is None else {"name_types": sorted(name_types)}
        description = {
            "mproto_version": __version__,
            **parts,
            "settings": config.as_dict(),
            **names,
            "card": dict(card),
        }
        write_description(staging, description)
        (staging / "README.md").write_text(readme, "utf-8")


def load(folder: Path) -> SavedModel:
    """Read a folder that `save` or `mproto export` wrote.

    Raises:
        InputError: it does not exist, is incomplete, or is not a model.
    """
    description = read_description(folder)
    try:
        config = Config().with_values(legacy.upgrade(description["settings"]))
    except InputError as error:
        what = f"was saved by mproto {description['mproto_version']}, and this version cannot use its settings"
        raise InputError(f"{what}: {error.message}", path=folder, hint=TRAIN_AGAIN) from None
    check_files(folder, description)
    tagger = _load_tagger(folder, description, config)
    card, name_types = card_and_name_types(description)
    return SavedModel(tagger, config, card, load_mentions(folder), name_types, model_fingerprint(description))


def card_and_name_types(description: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str] | None]:
    """Return the facts of the model card, and the types matched as names.

    mproto 0.1 saved the types in the card.
    """
    card = dict(description.get("card") or {})
    old = card.pop(NAMES, None)
    name_types = description.get("name_types", old if isinstance(old, list) else None)
    return card, None if name_types is None else frozenset(name for name in name_types if isinstance(name, str))


def model_fingerprint(description: Mapping[str, Any]) -> str:
    """Return a string that identifies a model: the fingerprints of its files."""
    return repr(sorted(description.get("files", {}).items()))


def _save_tagger(tagger: Tagger, folder: Path) -> dict[str, Any]:
    """Write the files of a torch model or an exported one.

    Return the values that loading needs, for `config.json`.
    """
    if not hasattr(tagger, "encoder"):
        return cast("OnnxModel", tagger).save(folder)
    from mproto.persistence.torch_model import save_model

    return save_model(cast("Model", tagger), folder)


def _load_tagger(folder: Path, description: dict[str, Any], config: Config) -> Tagger:
    """Load a torch model or an exported one."""
    tagger: Tagger
    exported = "onnx" in description
    if exported:
        try:
            from mproto.persistence.onnx_model import OnnxModel
        except ImportError:
            raise MissingExtraError("An exported model", "onnx") from None
        tagger = OnnxModel(folder, description)
    else:
        from mproto.persistence.torch_model import load_model

        tagger = load_model(folder, description, config)
    special = len(tagger.tokens.before) + len(tagger.tokens.after)
    if tagger.window <= special:
        key = "tokens.window" if exported else max_length_key(description)
        what = f"{key!r} is {tagger.window}, and must be more than the {special} special sub-words of each input"
        raise InputError(what, path=folder / CONFIG, hint=TRAIN_AGAIN)
    return tagger
