"""A recogniser on disk: what it consists of, written to a folder and read from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mproto.config import Config, legacy
from mproto.errors import InputError, MissingExtraError
from mproto.inference.mentions import Mentions
from mproto.io.outputs import filled
from mproto.persistence.card import NAMES
from mproto.persistence.files import AGAIN, CONFIG, MENTIONS, check_files, read_description, write_description
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mproto.inference.onnx import OnnxTagger
    from mproto.inference.tagger import Tagger
    from mproto.models.base import Model


class Stored(NamedTuple):
    """What a folder holds.

    Attributes:
        tagger: what tags words.
        config: how it was trained.
        card: what else the model card says.
        mentions: that it remembers, if it does.
        name_types: entity types whose terms were matched as names in training; `None` if it matched no terms.
        fingerprint: of its files.
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
    """Write a recogniser; whole, or not at all. What an older one remembers goes where this one remembers nothing.

    Args:
        folder: made where it is not there; it may be the one that the tagger came from.
        tagger: what tags words.
        config: how it was trained.
        card: what else the model card says.
        mentions: that it remembers, if it does.
        readme: the model card.
        name_types: entity types whose terms were matched as names in training.

    Raises:
        InputError: the files of an exported model are not those that it was loaded from.
        OSError: it cannot be written.
    """
    with filled(folder, discarded=(MENTIONS,)) as place:
        parts = _save_tagger(tagger, place)
        if mentions is not None:
            mentions.save(place)
        names = {} if name_types is None else {"name_types": sorted(name_types)}
        about = {"mproto_version": __version__, **parts, "settings": config.as_dict(), **names, "card": dict(card)}
        write_description(place, about)
        (place / "README.md").write_text(readme, "utf-8")


def load(folder: Path) -> Stored:
    """Read what `save` or `mproto export` wrote.

    Raises:
        InputError: it is not there, not whole, or not a model.
    """
    description = read_description(folder)
    try:
        config = Config().with_values(legacy.upgrade(description["settings"]))
    except InputError as error:
        what = f"was saved by another mproto ({description['mproto_version']}), whose settings this one does not know"
        raise InputError(f"{what}: {error.message}", path=folder, hint=AGAIN) from None
    check_files(folder, description)
    tagger = _load_tagger(folder, description, config)
    mentions = Mentions.load(folder)
    card, name_types = card_and_name_types(description)
    return Stored(tagger, config, card, mentions, name_types, model_fingerprint(description))


def card_and_name_types(description: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str] | None]:
    """Return the facts of the model card, and the types matched as names. mproto 0.1 saved the latter in the card."""
    card = dict(description.get("card") or {})
    old = card.pop(NAMES, None)
    name_types = description.get("name_types", old if isinstance(old, list) else None)
    return card, None if name_types is None else frozenset(name for name in name_types if isinstance(name, str))


def model_fingerprint(description: Mapping[str, Any]) -> str:
    """What tells a model from others: the fingerprints of its files."""
    return repr(sorted(description.get("files", {}).items()))


def _save_tagger(tagger: Tagger, folder: Path) -> dict[str, Any]:
    """Write the network's files, as torch has it or as exported; what must be known to read them, for JSON."""
    if not hasattr(tagger, "encoder"):
        return cast("OnnxTagger", tagger).save(folder)
    from mproto.persistence.torch_model import save_model

    return save_model(cast("Model", tagger), folder)


def _load_tagger(folder: Path, description: dict[str, Any], config: Config) -> Tagger:
    """The network, in torch or as exported."""
    tagger: Tagger
    exported = "onnx" in description
    if exported:
        try:
            from mproto.inference.onnx import OnnxTagger
        except ImportError:
            raise MissingExtraError("An exported model", "onnx") from None
        tagger = OnnxTagger(folder, description)
    else:
        from mproto.persistence.torch_model import load_model

        tagger = load_model(folder, description, config)
    around = len(tagger.tokens.before) + len(tagger.tokens.after)
    if tagger.window <= around:
        key = "tokens.window" if exported else "max_length"
        what = f"{key!r} is {tagger.window}, and must be more than the {around} sub-words around a text"
        raise InputError(what, path=folder / CONFIG, hint=AGAIN)
    return tagger
