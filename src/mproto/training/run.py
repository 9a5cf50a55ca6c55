"""A training run: documents in, a recogniser out, and on request a folder that tells how it came about."""

from __future__ import annotations

import hashlib
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mproto.config import Config
from mproto.errors import InputError, MprotoError, Notes
from mproto.models.devices import find_device, has_bfloat16
from mproto.models.encoder import Encoder
from mproto.models.registry import get_method
from mproto.recognizer import Recognizer
from mproto.text.scoring import score
from mproto.training.data import Data, label_set
from mproto.training.distributed import check_same, find_group
from mproto.training.folder import RunFolder
from mproto.training.held_out import HeldOut
from mproto.training.interrupt import Interrupt, Interrupted
from mproto.training.loop import Loop, LossError
from mproto.training.rehearsal import Rehearsal
from mproto.training.selection import Average, Best

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mproto.config import Training
    from mproto.text.document import Document
    from mproto.training.loop import Progress
    from mproto.training.selection import Selection


def train(
    documents: Iterable[Document],
    *,
    dev: Iterable[Document] | None = None,
    config: Config | None = None,
    output: Path | str | None = None,
    force: bool = False,
    resume: bool = False,
    on_progress: Callable[[Progress], object] = id,
    measures: Mapping[str, Callable[[Recognizer], float]] | None = None,
    card: dict[str, Any] | None = None,
    notes: Notes | None = None,
) -> Recognizer:
    """Train a recogniser on labelled documents.

    Args:
        documents: with distant spans; gold spans beside them are never looked at.
        dev: documents with gold spans that pick the best checkpoint. Without, nothing human is looked at.
        config: see `mproto.config`.
        output: a folder for the run: `config.toml`, `history.jsonl`, `checkpoints/` while it lasts, and the model, `best/`.
            With it, Ctrl-C and SIGTERM end the step, write a checkpoint, and raise `Interrupted`.
        force: whether an older run in that folder may be replaced.
        resume: go on with the run in that folder, to the same model, bit for bit; the call must be the same otherwise.
            Where there is none yet, one begins.
        on_progress: called after every step.
        measures: further numbers for the history, taken at every evaluation; they decide nothing.
        card: what the model card should say besides.
        notes: where it is counted what was left out.

    Raises:
        InputError: the data or the configuration cannot be trained with.
        Interrupted: somebody stopped it.
        MprotoError: the loss is no number any more.
    """
    config = config or Config()
    notes = notes if notes is not None else Notes()
    documents = [document for document in documents if document.word_count]
    labels = label_set(documents)
    dev_documents = None if dev is None else list(dev)
    if dev_documents is not None:
        _check_dev(dev_documents, labels, notes)
    device = find_device(config.training.device)
    group = find_group(device)
    folder = None
    if output is not None:
        inputs = _inputs(config, documents, dev_documents)
        folder = RunFolder(Path(output), inputs, notes, force=force, resume=resume, leads=group.rank == 0)
        if resume and folder.is_finished:
            return Recognizer.from_pretrained(output)
    torch.manual_seed(config.training.seed)
    model = get_method(config.method).build(Encoder.load(config.encoder), labels, config).to(device)
    model.group = group
    model.encoder.mixed = has_bfloat16(device)
    if group.rank:
        torch.manual_seed(config.training.seed + group.rank)  # of dropout
    recognizer = Recognizer(model, config, {"training documents": len(documents), **(card or {})})
    selection, documents = _selection(recognizer, documents, dev_documents, config.training)
    data = Data.of(documents, model)
    rehearsal = Rehearsal(documents, data, model, config.training) if model.rehearsal_share else None
    loop = Loop(model, data, config.training, selection, rehearsal, _measuring(recognizer, measures or {}))
    state = folder.newest_state() if folder and resume else None
    group.wait()
    if state:
        loop.restore(state)
    else:
        if folder:
            folder.start(config)
        loop.start()
    try:
        _run(loop, recognizer, folder, on_progress if group.rank == 0 else id)
    except LossError as error:
        kept = (
            f"the model of step {folder.kept} is kept in {folder.best}"
            if folder and folder.kept
            else "no model was kept"
        )
        raise MprotoError(f"{error}; {kept}. Try a lower training.learning_rate.") from None
    return recognizer


def _run(
    loop: Loop, recognizer: Recognizer, folder: RunFolder | None, on_progress: Callable[[Progress], object]
) -> None:
    """Train; with a folder, keep what is needed to go on after whatever may happen."""
    debug = bool(os.environ.get("MPROTO_DEBUG"))
    with Interrupt() if folder else nullcontext() as interrupt:
        for progress in loop.run():
            if folder:
                folder.record(progress, recognizer)
            on_progress(progress)
            if debug:
                check_same(loop.model, loop.group)
            if not folder or progress.step == progress.steps:
                continue
            asked = interrupt is not None and interrupt.asked
            flags = torch.tensor([asked, folder.is_due(loop.settings.checkpoint_minutes)])
            stop, save = (loop.group.sum(flags.long()) > 0).tolist()  # all processes do the same
            if stop or save:
                folder.save(loop.state())
            if stop:
                raise Interrupted(_how_to_go_on(folder, progress))
    if folder:
        folder.finish(recognizer, loop.step)
    loop.group.wait()


def _how_to_go_on(folder: RunFolder, progress: Progress) -> str:
    stopped = f"stopped after step {progress.step} of {progress.steps}"
    if folder.saved == progress.step:
        return f"{stopped}, which is kept in {folder.folder}; resume to go on from there"
    if folder.saved:
        return (
            f"{stopped}; its checkpoint could not be written, but that of step {folder.saved} is there to resume from"
        )
    return f"{stopped}; its checkpoint could not be written, so training will start again"


def _inputs(config: Config, documents: Sequence[Document], dev: Sequence[Document] | None) -> dict[str, Any]:
    """What a run depends on; only with the same can it go on."""
    found: dict[str, Any] = {}
    for name, value in config.as_dict().items():
        found |= (
            {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {f"config.{name}": value}
        )
    del found["training.checkpoint_minutes"]  # which changes nothing
    return {
        **found,
        "training documents": _fingerprint(documents),
        "development documents": None if dev is None else _fingerprint(dev),
    }


def _fingerprint(documents: Sequence[Document]) -> str:
    found = hashlib.sha256()
    for document in documents:
        found.update(repr((document.text, document.edges, document.spans)).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _check_dev(dev: Sequence[Document], labels: Sequence[str], notes: Notes) -> None:
    if not dev:
        raise InputError("there is no development document", hint="check the development data, or leave it out")
    unknown = sorted({span.label for document in dev for span in document.spans} - set(labels))
    if unknown:
        raise InputError(
            f"the development data have types that the training data lack: {', '.join(unknown)}",
            hint=f"the training data have {', '.join(labels)}; rename the types, or add terms of the missing ones",
        )
    if not any(document.spans for document in dev):
        notes.count("development documents, and no entity in them: every checkpoint scores 0", len(dev))


def _selection(
    recognizer: Recognizer, documents: list[Document], dev: Sequence[Document] | None, settings: Training
) -> tuple[Selection, list[Document]]:
    """How the weights are chosen, and the documents that are left to learn from."""
    name = settings.selection
    if name == "auto":
        name = "last" if dev is None else "gold"
    if name == "last":
        return Average(settings.average), documents
    if name != "gold":
        held_out = HeldOut.of(documents, settings.seed, hide=name == "held-out")
        measure = held_out.score if name == "held-out" else held_out.agreement
        label_set(held_out.aside), label_set(held_out.training)  # there must be something to compare with, and to learn
        return Best(_by_one(recognizer, measure)), held_out.training
    if dev is None:
        raise InputError(
            "training.selection is gold, and there are no development data", hint="pass them, or choose last"
        )
    bare = [document.with_spans((), None) for document in dev]
    return Best(
        _by_one(recognizer, lambda model: score(zip(dev, model.predict(bare), strict=True)).overall.f1)
    ), documents


def _by_one(recognizer: Recognizer, measure: Callable[[Recognizer], float]) -> Callable[[], float]:
    """A measure that the first process takes and tells the others."""
    group = recognizer.model.group

    def measured() -> float:
        value = measure(recognizer) if group.rank == 0 else 0.0
        return float(group.sum(torch.tensor(value, dtype=torch.float64)))

    return measured


def _measuring(
    recognizer: Recognizer, measures: Mapping[str, Callable[[Recognizer], float]]
) -> Callable[[], dict[str, float]]:
    taken = {name: _by_one(recognizer, measure) for name, measure in measures.items()}
    return lambda: {name: measure() for name, measure in taken.items()}
