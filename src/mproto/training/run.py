"""Train a recogniser on documents, with an optional folder for settings, history and checkpoints."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from mproto.config import Config
from mproto.errors import MprotoError, Notes
from mproto.models.base import UsesEstimate
from mproto.models.devices import find_device
from mproto.models.encoder import Encoder
from mproto.models.precision import has_bfloat16, trains_in_bfloat16
from mproto.models.registry import get_method
from mproto.persistence.card import CALIBRATED
from mproto.recognizer import Recognizer
from mproto.text.scoring import score
from mproto.training.calibration import calibrate
from mproto.training.cross_fitting import find_cross_fitting
from mproto.training.data import Data, label_set
from mproto.training.distributed import check_same, find_group
from mproto.training.evaluation import check_dev, select_weights, take_measures
from mproto.training.example_mentions import remember
from mproto.training.failures import explain_failures, stopped_message
from mproto.training.folder import RunFolder, read_history, restore_state
from mproto.training.hold_out import HoldOut
from mproto.training.inputs import run_inputs
from mproto.training.interrupt import Interrupt, Interrupted
from mproto.training.loop import Loop
from mproto.training.progress_bar import training_progress
from mproto.training.result import TrainingResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mproto.models.precision import Precision
    from mproto.models.process_group import ProcessGroup
    from mproto.text.document import Document
    from mproto.training.cross_fitting import CrossFitting
    from mproto.training.loop import Progress, State


LONGEST_SHARE = 0.999
"""The share of training windows that are not longer than `max_length` of the trained model."""
HUMAN_SHARE, MOST_REPEATS = 0.1, 10
"""Human-labelled documents are repeated, up to 10 times each, so that they make up a tenth of the
training data."""


def train(
    documents: Iterable[Document],
    *,
    labelled: Iterable[Document] = (),
    dev: Iterable[Document] | None = None,
    method: str | None = None,
    encoder: str | Path | None = None,
    epochs: float | Literal["auto"] | None = None,
    minutes: float | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    seed: int | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    config: Config | None = None,
    output: Path | str | None = None,
    force: bool = False,
    resume: bool = False,
    progress: bool = True,
    on_step: Callable[[Progress], object] | None = None,
    measures: Mapping[str, Callable[[Recognizer], float]] | None = None,
    name_types: Iterable[str] | None = None,
    card: Mapping[str, Any] | None = None,
    notes: Notes | None = None,
) -> TrainingResult:
    """Train a recogniser on labelled documents.

    `method`, `encoder`, `epochs`, `minutes`, `batch_size`, `learning_rate`, `seed`, `device` and
    `precision` override the same settings of `config`; `None` leaves them as they are there.

    Args:
        documents: documents with distant labels as their spans. Their gold spans are never used.
            They may be empty if there are `labelled` documents.
        labelled: human-labelled documents, few or many: a word without a span is not an entity. A
            document's gold spans count if it has both kinds.
        dev: documents with gold spans, which select the best checkpoint. Without them, training
            uses no human labels except those of `labelled`.
        method: `mproto` or a baseline.
        encoder: the bundled encoder, a folder, or a name on the Hugging Face hub.
        epochs: the number of passes over the training data; `auto` chooses it by the size of the
            data.
        minutes: shorten the training so that it takes about this many minutes.
        batch_size: maximum number of sentences in a batch.
        learning_rate: peak learning rate, after warm-up.
        seed: the seed of all random numbers.
        device: `auto` (the GPU if there is one), `cpu`, `cuda` or `cuda:N`.
        precision: number format of the encoder in training: `auto`, `float32` or `bfloat16`.
        config: all other settings; see `load_config`.
        output: a folder for the run: `config.toml`, `history.jsonl`, `checkpoints/` during
            training, and the model, `best/`. With it, Ctrl-C and SIGTERM finish the step, write a
            checkpoint, and raise `Interrupted`.
        force: replace an older run in that folder.
        resume: resume the run in that folder; the call must otherwise be the same. The resulting
            model is bit-identical to that of a run without interruption. If the folder has no run,
            start one.
        progress: show a progress bar on standard error if it is a terminal.
        on_step: called with a `Progress` after every step.
        measures: further numbers for the history, computed at every evaluation; they select
            nothing.
        name_types: entity types whose terms were matched as names (`on_names` of `annotate`), saved
            with the model.
        card: further facts for the model card.
        notes: counts everything that was left out or could not be written.

    Raises:
        InputError: the data or the settings are wrong.
        Interrupted: the user stopped the run.
        MprotoError: the loss is not finite, or there is not enough memory.
    """
    values = {
        "epochs": epochs,
        "minutes": minutes,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "seed": seed,
        "device": device,
        "precision": precision,
    }
    config = (config or Config()).with_values(
        {
            **_given({"method": method, "encoder": None if encoder is None else str(encoder)}),
            "training": _given(values),
        }
    )
    with training_progress() if progress else nullcontext(id) as show:

        def follow(step: Progress) -> None:
            show(step)
            if on_step is not None:
                on_step(step)

        return _train(
            [document for document in documents if document.word_count],
            [document.with_gold() for document in labelled if document.word_count],
            None if dev is None else [document.with_gold() for document in dev],
            config,
            Path(output) if output is not None else None,
            force=force,
            resume=resume,
            on_step=follow,
            measures=measures or {},
            name_types=name_types,
            card=card or {},
            notes=notes if notes is not None else Notes(),
        )


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _train(
    documents: list[Document],
    labelled: list[Document],
    gold: list[Document] | None,
    config: Config,
    output: Path | None,
    *,
    force: bool,
    resume: bool,
    on_step: Callable[[Progress], object],
    measures: Mapping[str, Callable[[Recognizer], float]],
    name_types: Iterable[str] | None,
    card: Mapping[str, Any],
    notes: Notes,
) -> TrainingResult:
    labels = label_set([*documents, *labelled])
    if gold is not None:
        check_dev(gold, labels, config.training, notes)
    device = find_device(config.training.device)
    mixed = trains_in_bfloat16(config.training.precision, device)
    group = find_group(device)
    folder = None
    state = None
    history: list[Progress] = []
    if output is not None:
        inputs = run_inputs(config, group.size, documents, labelled, gold)
        folder = RunFolder(output, inputs, notes, leads=group.rank == 0)
        state = _state_to_resume(folder, group, force=force, resume=resume)
        if folder.is_finished:
            trained = Recognizer.from_pretrained(output, device=config.training.device)
            restore_state(trained, output)
            return TrainingResult(trained, tuple(read_history(output)))
        if state:
            history = read_history(output)
    torch.manual_seed(config.training.seed)
    encoder = Encoder.load(config.encoder, shapes=config.word_shapes, attention_dropout=config.attention_dropout)
    model = get_method(config.method).build(encoder, labels, config).to(device)
    model.group = group
    model.encoder.mixed = mixed
    if group.rank:
        torch.manual_seed(config.training.seed + group.rank)  # for dropout
    recognizer = Recognizer(model, config, name_types=name_types)
    selection = select_weights(recognizer, gold, config.training)
    sizes = {"training documents": len(documents), "documents labelled by people": len(labelled)}
    recognizer.card = {**{name: size for name, size in sizes.items() if size}, **card}
    data = Data.of(documents, model, labelled * _repeats(len(documents), len(labelled)))
    model.max_length = max(model.max_length, data.usual_length(LONGEST_SHARE))
    hold_out = (
        HoldOut(data, model, config.training) if isinstance(model, UsesEstimate) and model.hold_out_share else None
    )
    cross_fitting = find_cross_fitting(data, model, config)
    loop = Loop(model, data, config.training, selection, hold_out, cross_fitting, take_measures(recognizer, measures))
    with Interrupt(verbose=group.rank == 0) if folder else nullcontext() as interrupt, explain_failures(loop, folder):
        if state:
            loop.restore(state)
        else:
            if folder:
                folder.start(config)
            loop.start()
        _run(loop, recognizer, folder, interrupt, history, on_step if group.rank == 0 else id)
        model.encoder.mixed = has_bfloat16(device)  # as in a loaded model
        recognizer.mentions = remember(recognizer, [*documents, *labelled], config.training.seed)
        _calibrate(recognizer, gold, cross_fitting, config)
        if folder:
            folder.finish(recognizer, loop.step)
        group.wait()
    return TrainingResult(recognizer, tuple(history))


def _calibrate(
    recognizer: Recognizer, gold: list[Document] | None, cross_fitting: CrossFitting | None, config: Config
) -> None:
    """Calibrate the scores, on human labels if there are any, and record on the card what is known of the quality."""
    if cross_fitting:
        recognizer.card |= cross_fitting.outlook.as_card()
        if not gold:
            bias, temperature = cross_fitting.calibration
            recognizer.model.entity_bias, recognizer.model.calibration = bias, temperature
            if cross_fitting.parts > 1:
                recognizer.card |= {CALIBRATED: "the training text without human labels, so only roughly"}
    if gold:
        calibrate(recognizer.model, gold, config.training)
        scores = score(zip(gold, recognizer.predict([document.bare() for document in gold]), strict=True))
        recognizer.card |= {
            "scores": [{"corpus": "the development data", **scores.overall.as_dict()}],
            CALIBRATED: f"{len(gold):,} development documents",
        }


def _repeats(documents: int, labelled: int) -> int:
    """Return how often each human-labelled document occurs in the training data."""
    return max(1, min(MOST_REPEATS, round(HUMAN_SHARE * documents / max(labelled, 1))))


def _state_to_resume(folder: RunFolder, group: ProcessGroup, *, force: bool, resume: bool) -> State | None:
    """Return the state to resume from, if any; the same for all processes."""
    state = None
    if resume:
        state = folder.read()
    elif group.rank == 0:
        folder.check_new(force=force)
    steps, _ = group.gather(torch.tensor([state.values["step"] if state else 0]))
    if len(steps.unique()) > 1:  # type: ignore[no-untyped-call]
        raise MprotoError(
            f"the processes see different checkpoints in {folder.folder}: put it on a disk that all share"
        )
    return state


def _run(
    loop: Loop,
    recognizer: Recognizer,
    folder: RunFolder | None,
    interrupt: Interrupt | None,
    history: list[Progress],
    on_step: Callable[[Progress], object],
) -> None:
    """Train to the end and append every step to `history`.

    With a folder, write the checkpoints to resume from.
    """
    debug = bool(os.environ.get("MPROTO_DEBUG"))
    for progress in loop.run():
        if folder:
            folder.record(progress, recognizer)
        history.append(progress)
        on_step(progress)
        if debug:
            check_same(loop.model, loop.group)
        if not folder or progress.step == progress.steps:
            continue
        requested = interrupt is not None and interrupt.is_requested
        flags = torch.tensor([requested, folder.is_due(loop.settings.checkpoint_minutes)])
        stop, save = (loop.group.sum(flags.long()) > 0).tolist()  # all processes must decide alike
        if stop or save:
            folder.save(loop.state())
            loop.group.wait()  # for the process that writes
        if stop:
            raise Interrupted(stopped_message(folder, progress) if loop.group.rank == 0 else "")
