"""Settings of version 0.1: their new names, and the upgrade of the settings of saved models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mproto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

RENAMED = {
    "shapes": "word_shapes",
    "mproto.dropout": "dropout",
    "tagger.dropout": "dropout",
    "mproto.start": "mproto.init",
    "mproto.solver": "mproto.denoising",
    "mproto.denoise": "mproto.denoising",
    "mproto.unit_features": "mproto.prototype_update",
    "mproto.only_correct": "mproto.prototype_update",
    "mproto.merge": "mproto.merge_prototypes",
    "mproto.together": "mproto.viterbi",
    "self_training.on": "self_training.teacher",
}
REMOVED = frozenset(
    {
        "training.weight_decay",
        "training.max_gradient_norm",
        "mproto.shared_doubt",
        "mproto.kin",
        "mproto.price",
        "mproto.epsilon",
        "mproto.iterations",
        "mproto.learn_temperature",
        "tagger.scheme",
        "negative_sampling.longest",
        "negative_sampling.hidden",
        "negative_sampling.ratio",
        "positive_unlabelled.eta",
        "positive_unlabelled.confidence_share",
        "positive_unlabelled.rehearsal_share",
        "autoner.hidden",
        "self_training.refresh",
    }
)


def hint(name: str) -> str | None:
    """Return a hint about a renamed or removed setting of version 0.1; None for other names."""
    if name in RENAMED:
        return f"it was renamed to {RENAMED[name]} in version 0.2"
    if name in REMOVED:
        return "it became a constant in version 0.2; leave it out"
    return None


def upgrade(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Upgrade the settings of a model saved by version 0.1; return current settings unchanged.

    The model predicts as before. Constants that only matter in training are dropped.

    Raises:
        InputError: a network like the saved one can no longer be built.
    """
    if "word_shapes" in saved:
        return dict(saved)
    if saved.get("method") != "mproto" and saved.get("tagger", {}).get("scheme", "bio") != "bio":
        raise InputError("it was trained with tagger.scheme=io, which was removed")
    kept = _without_removed({key: value for key, value in saved.items() if key not in ("shapes", "tagger")})
    kept["word_shapes"] = saved.get("shapes", False)  # the oldest models had none
    if training := kept.get("training"):
        selection = training.get("selection", "auto")
        training["selection"] = {"gold": "dev", "noisy": "last", "held-out": "last"}.get(selection, selection)
    if "self_training" in kept and "on" in kept["self_training"]:
        kept["self_training"]["teacher"] = kept["self_training"].pop("on")
    if "mproto" in saved:
        kept["mproto"] = _upgrade_mproto(kept["mproto"])
        kept["dropout"] = saved["mproto"].get("dropout", 0.1)
    return kept


def _without_removed(saved: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: {inner: v for inner, v in value.items() if f"{key}.{inner}" not in REMOVED}
        if isinstance(value, dict)
        else value
        for key, value in saved.items()
    }


def _upgrade_mproto(saved: dict[str, Any]) -> dict[str, Any]:
    denoise, solver = saved.pop("denoise", True), saved.pop("solver", "sinkhorn")
    saved["denoising"] = "none" if not denoise else "threshold" if solver == "threshold" else "transport"
    saved.pop("unit_features", None)
    saved["prototype_update"] = "published" if saved.pop("only_correct", False) else "unit"  # 0.1 had no raw prototypes
    saved.pop("dropout", None)
    for old, new in (("start", "init"), ("merge", "merge_prototypes"), ("together", "viterbi")):
        if old in saved:
            saved[new] = saved.pop(old)
    saved["temperature"] = 0.05  # version 0.1 always predicted with this value, even if it trained with another
    return saved
