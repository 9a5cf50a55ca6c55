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
from mproto.models.devices import find_device
from mproto.models.encoder import Encoder
from mproto.models.precision import has_bfloat16, trains_in_bfloat16
from mproto.models.registry import get_method
from mproto.recognizer import Recognizer
from mproto.text.scoring import score
from mproto.training.calibration import calibrate
from mproto.training.data import Data, label_set
from mproto.training.distributed import check_same, find_group
from mproto.training.example_mentions import remember
from mproto.training.failures import explain_failures, stopped_message
from mproto.training.folder import RunFolder
from mproto.training.held_out import HeldOut
from mproto.training.hold_out import Rehearsal
from mproto.training.interrupt import Interrupt, Interrupted
from mproto.training.loop import Loop
from mproto.training.selection import Average, Best

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mproto.config.settings import Training
    from mproto.models.process_group import Group
    from mproto.text.document import Document
    from mproto.training.loop import Progress, State
    from mproto.training.selection import Selection


MOST_WINDOWS = 0.999
"""The share of training windows that are no longer than what the model will read at once."""
LEAST_LABELLED, MOST_TIMES = 0.1, 10
"""One document that a person labelled is read for ten others, if reading each up to ten times is enough for that."""


def train(
    documents: Iterable[Document],
    *,
    labelled: Iterable[Document] = (),
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
        documents: with distant spans; gold spans beside them are never looked at. There may be none, if some are labelled.
        labelled: documents that people labelled, as few or as many as there are: what has no span there is no entity. Where
            there are both spans and gold spans, the latter count.
        dev: documents with gold spans that pick the best checkpoint. Without, no human label chooses anything.
        config: see `mproto.config.loading`.
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
    labelled = [document.by_people() for document in labelled if document.word_count]
    labels = label_set([*documents, *labelled])
    gold = None if dev is None else [document.by_people() for document in dev]
    if gold is not None:
        _check_dev(gold, labels, config.training, notes)
    device = find_device(config.training.device)
    mixed = trains_in_bfloat16(config.training.precision, device)
    group = find_group(device)
    folder = None
    state = None
    if output is not None:
        folder = RunFolder(
            Path(output), _inputs(config, group, documents, labelled, gold), notes, leads=group.rank == 0
        )
        state = _look(folder, group, force=force, resume=resume)
        if folder.is_finished:
            return Recognizer.from_pretrained(output)
    torch.manual_seed(config.training.seed)
    encoder = Encoder.load(config.encoder, shapes=config.shapes, attention_dropout=config.attention_dropout)
    model = get_method(config.method).build(encoder, labels, config).to(device)
    model.group = group
    model.encoder.mixed = mixed
    if group.rank:
        torch.manual_seed(config.training.seed + group.rank)  # of dropout
    recognizer = Recognizer(model, config)
    selection, learnt = _selection(recognizer, documents, labelled, gold, config.training)
    sizes = {"training documents": len(learnt), "documents labelled by people": len(labelled)}
    recognizer.card = {**{name: size for name, size in sizes.items() if size}, **(card or {})}
    data = Data.of(learnt, model, labelled * _times(len(learnt), len(labelled)))
    model.reach = max(model.reach, data.usual_length(MOST_WINDOWS))
    rehearsal = Rehearsal(data, model, config.training) if model.rehearsal_share else None
    loop = Loop(model, data, config.training, selection, rehearsal, _measuring(recognizer, measures or {}))
    with Interrupt(verbose=group.rank == 0) if folder else nullcontext() as interrupt, explain_failures(loop, folder):
        if state:
            loop.restore(state)
        else:
            if folder:
                folder.start(config)
            loop.start()
        _run(loop, recognizer, folder, interrupt, on_progress if group.rank == 0 else id)
        model.encoder.mixed = has_bfloat16(device)  # as it will be wherever it is loaded
        recognizer.mentions = remember(recognizer, [*learnt, *labelled], config.training.seed)
        if gold:
            calibrate(model, gold, config.training)
            found = score(zip(gold, recognizer.predict([document.bare() for document in gold]), strict=True))
            recognizer.card |= {
                "scores": [{"corpus": "the development data", **found.overall.as_dict()}],
                "scores of entities calibrated on": f"{len(gold):,} development documents",
            }
        if folder:
            folder.finish(recognizer, loop.step)
        group.wait()
    return recognizer


def _times(documents: int, labelled: int) -> int:
    """How often a document that people labelled is read for each time that others are."""
    return max(1, min(MOST_TIMES, round(LEAST_LABELLED * documents / max(labelled, 1))))


def _look(folder: RunFolder, group: Group, *, force: bool, resume: bool) -> State | None:
    """What there is to go on from, the same for all processes."""
    state = None
    if resume:
        state = folder.read()
    elif group.rank == 0:
        folder.check_new(force=force)
    steps, _ = group.gather(torch.tensor([state.values["step"] if state else 0]))
    if len(steps.unique()) > 1:  # type: ignore[no-untyped-call]
        raise MprotoError(
            f"the processes see different checkpoints in {folder.folder}: it must be on a disk that all share"
        )
    return state


def _run(
    loop: Loop,
    recognizer: Recognizer,
    folder: RunFolder | None,
    interrupt: Interrupt | None,
    on_progress: Callable[[Progress], object],
) -> None:
    """Train; with a folder, keep what is needed to go on after whatever may happen."""
    debug = bool(os.environ.get("MPROTO_DEBUG"))
    for progress in loop.run():
        if folder:
            folder.record(progress, recognizer)
        on_progress(progress)
        if debug:
            check_same(loop.model, loop.group)
        if not folder or progress.step == progress.steps:
            continue
        asked = interrupt is not None and interrupt.is_requested
        flags = torch.tensor([asked, folder.is_due(loop.settings.checkpoint_minutes)])
        stop, save = (loop.group.sum(flags.long()) > 0).tolist()  # all processes do the same
        if stop or save:
            folder.save(loop.state())
            loop.group.wait()  # for the one that writes
        if stop:
            raise Interrupted(stopped_message(folder, progress) if loop.group.rank == 0 else "")


def _inputs(
    config: Config,
    group: Group,
    documents: Sequence[Document],
    labelled: Sequence[Document],
    dev: Sequence[Document] | None,
) -> dict[str, Any]:
    """What a run depends on; only with the same can it go on."""
    found: dict[str, Any] = {}
    for name, value in config.as_dict().items():
        found |= {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    for name in ("training.checkpoint_minutes", "training.device"):  # where it goes on may be another place
        del found[name]
    if config.autoner.phrases:
        found["autoner.phrases"] = _content(Path(config.autoner.phrases))
    return {
        **found,
        "processes": group.size,
        "training documents": _fingerprint(documents),
        "labelled documents": _fingerprint(labelled),
        "development documents": None if dev is None else _fingerprint(dev),
    }


def _content(path: Path) -> str:
    """A fingerprint of a file, or of the files of a folder; nothing where there is none, which others will say."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def _fingerprint(documents: Sequence[Document]) -> str:
    found = hashlib.sha256()
    for document in documents:
        words = tuple(map(tuple, document.edges))
        found.update(repr((document.text, words, document.spans)).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _check_dev(dev: Sequence[Document], labels: Sequence[str], settings: Training, notes: Notes) -> None:
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
    if settings.selection not in ("auto", "gold"):
        notes.count(f"development documents were not used: training.selection is {settings.selection}", len(dev))


def _selection(
    recognizer: Recognizer,
    documents: list[Document],
    labelled: list[Document],
    dev: Sequence[Document] | None,
    settings: Training,
) -> tuple[Selection, list[Document]]:
    """How the weights are chosen, and the documents that are left to learn from."""
    name = settings.selection
    if name == "auto":
        name = "last" if dev is None else "gold"
    if name == "last":
        return Average(settings.average), documents
    if name != "gold":
        held_out = HeldOut.of(documents, settings.seed, hide=name == "held-out", labelled=labelled)
        measure = held_out.score if name == "held-out" else held_out.agreement
        if not any(d.spans for d in held_out.aside) or not any(d.spans for d in held_out.training):
            raise InputError(
                f"there are too few documents with distant labels to hold some out ({len(documents)})",
                hint="choose training.selection=last, or gold with development data",
            )
        return Best(_by_one(recognizer, measure)), held_out.training
    if dev is None:
        raise InputError(
            "training.selection is gold, and there are no development data", hint="pass them, or choose last"
        )
    bare = [document.bare() for document in dev]
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
