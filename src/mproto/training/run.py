"""A training run: documents in, a recogniser out, and on request a folder that tells how it came about."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mproto.config import Config
from mproto.errors import InputError, MprotoError, Notes
from mproto.models.encoder import Encoder
from mproto.models.registry import get_method
from mproto.recognizer import BEST, Recognizer
from mproto.text.scoring import score
from mproto.training.data import Data, label_set
from mproto.training.loop import LossError, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mproto.text.document import Document
    from mproto.training.loop import Progress


CONFIG, HISTORY, FRESH, OLD = "config.toml", "history.jsonl", f".{BEST}.partial", f".{BEST}.old"
PARTS = {CONFIG, HISTORY, BEST, FRESH, OLD}
"""What the folder of a run holds. A folder that holds anything else is never replaced."""


def train(
    documents: Iterable[Document],
    *,
    dev: Iterable[Document] | None = None,
    config: Config | None = None,
    output: Path | str | None = None,
    force: bool = False,
    on_progress: Callable[[Progress], object] = id,
    card: dict[str, Any] | None = None,
    notes: Notes | None = None,
) -> Recognizer:
    """Train a recogniser on labelled documents.

    Args:
        documents: with distant spans; gold spans beside them are never looked at.
        dev: documents with gold spans that pick the best checkpoint. Without, the last one is taken.
        config: see `mproto.config`.
        output: a folder for the run: `config.toml`, `history.jsonl` and the model, `best/`.
        force: whether an older run in that folder may be replaced.
        on_progress: called after every step.
        card: what the model card should say besides.
        notes: where it is counted what was left out.

    Raises:
        InputError: the data or the configuration cannot be trained with.
        MprotoError: the loss is no number any more.
    """
    config = config or Config()
    notes = notes if notes is not None else Notes()
    documents = [document for document in documents if document.word_count]
    labels = label_set(documents)
    dev_documents = None if dev is None else list(dev)
    if dev_documents is not None:
        _check_dev(dev_documents, labels, notes)
    run = _Run(Path(output), force=force) if output is not None else None
    torch.manual_seed(config.training.seed)
    model = get_method(config.method).build(Encoder.load(config.encoder), labels, config)
    data = Data.of(documents, model)
    if run:
        run.start(config)
    recognizer = Recognizer(model, config, {"training documents": len(documents), **(card or {})})
    try:
        for progress in fit(model, data, config.training, _evaluation(recognizer, dev_documents)):
            if run:
                run.record(progress, recognizer)
            on_progress(progress)
    except LossError as error:
        kept = f"the model of step {run.kept} is kept in {run.best}" if run and run.kept else "no model was kept"
        raise MprotoError(f"{error}; {kept}. Try a lower training.learning_rate.") from None
    return recognizer


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


def _evaluation(recognizer: Recognizer, dev: Sequence[Document] | None) -> Callable[[], float] | None:
    if dev is None:
        return None
    bare = [document.with_spans((), None) for document in dev]
    return lambda: score(zip(dev, recognizer.predict(bare), strict=True)).overall.f1


class _Run:
    """The folder of a run."""

    def __init__(self, folder: Path, *, force: bool) -> None:
        self.folder, self.best, self.kept = folder, folder / BEST, 0
        if folder.exists() and not folder.is_dir():
            raise InputError("is a file", path=folder, hint="name a folder")
        found = {path.name for path in folder.iterdir()} if folder.exists() else set()
        is_run = CONFIG in found and found <= PARTS
        if found and not (force and is_run):
            why = "pass --force to replace this older run" if is_run else "name another folder"
            raise InputError("exists already and is not empty", path=folder, hint=why)

    def start(self, config: Config) -> None:
        """Make the folder, now that nothing can be wrong with the call any more; an older run goes."""
        try:
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True)
            (self.folder / CONFIG).write_text(config.to_toml(), "utf-8")
        except OSError as error:
            raise InputError(
                f"cannot be written: {error.strerror}", path=self.folder, hint="name another folder"
            ) from None

    def record(self, progress: Progress, recognizer: Recognizer) -> None:
        with (self.folder / HISTORY).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(progress)) + "\n")
        if progress.best:
            fresh, old = self.folder / FRESH, self.folder / OLD
            for leftover in (fresh, old):
                shutil.rmtree(leftover, ignore_errors=True)
            recognizer.save_pretrained(fresh)
            if self.best.exists():
                self.best.rename(old)
            fresh.rename(self.best)
            shutil.rmtree(old, ignore_errors=True)
            self.kept = progress.step
