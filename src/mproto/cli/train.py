"""`mproto train`: a recogniser from text and terms."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mproto.cli.arguments import (
    add_device,
    add_gazetteer,
    add_matching,
    add_reading,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import notes_as_dict, print_json, print_notes, training_progress
from mproto.cli.tables import percent
from mproto.errors import InputError, MprotoError, Notes

if TYPE_CHECKING:
    import argparse

    from mproto.config import Config
    from mproto.gazetteer import Gazetteer, MatchOptions
    from mproto.workflows.train import Trained

SUMMARY = "train a recogniser on text and terms, or on labelled documents"
DESCRIPTION = """Train a named-entity recogniser. With --gazetteer the text may have no labels: those that the terms give
are learnt from. Without, the labels of the training file are: they may lack entities. Human labels kept beside distant ones
are not learnt from, nor do they choose anything; the report at the end compares with them. Documents that people labelled
from end to end, be they five or all, go into --labelled; --train may then be left out.

The output is a folder: config.toml with every setting, history.jsonl with every step, report.html, a page about the run,
and best/ with the model, which `mproto predict` and `mproto evaluate` take (the folder itself will do).

Ctrl-C ends the step and keeps it in checkpoints/. The same call with --resume then goes on to the same model, bit for bit,
as it does after a crash, from the last checkpoint (training.checkpoint_minutes says how often one is written)."""
EXAMPLE = "mproto train --train corpus.txt --gazetteer terms/ --output my-run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--train", metavar="FILE", type=Path, help="the documents to learn from")
    parser.add_argument(
        "--labelled", metavar="FILE", type=Path, help="documents that people labelled, a few or many, to learn from too"
    )
    parser.add_argument("--dev", metavar="FILE", type=Path, help="labelled documents that pick the best checkpoint")
    parser.add_argument("--output", required=True, metavar="DIR", type=Path, help="a new folder for the run")
    parser.add_argument("--method", metavar="NAME", help="mproto (default), or a baseline: see docs/baselines.md")
    parser.add_argument("--preset", default="default", help="default, or paper for the settings of the paper")
    parser.add_argument("--encoder", metavar="NAME", help="see mproto encoders (default: the embedded one)")
    parser.add_argument("--config", metavar="FILE", type=Path, help="a TOML file of settings")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="one setting, over all the others"
    )
    add_device(parser)
    parser.add_argument("--seed", type=int, metavar="N", help="of everything random (default: 0)")
    parser.add_argument(
        "--resume", action="store_true", help="go on with the run in the folder, as if it had not stopped"
    )
    parser.add_argument("--force", action="store_true", help="replace an older run in the folder")
    parser.add_argument("--no-report", action="store_true", help="do not write a page about the run into the folder")
    parser.add_argument("--tensorboard", action="store_true", help="write curves for TensorBoard into the folder too")
    add_gazetteer(parser, "terms that label the training documents: a folder of TYPE.txt, a file, or TYPE=FILE")
    add_matching(parser)
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.config import load_config

    if parsed.force and parsed.resume:
        raise InputError("--force replaces a run, and --resume goes on with it", hint="pass one of the two")
    if not parsed.train and not parsed.labelled:
        raise InputError("there is nothing to train on", hint="pass --train FILE, --labelled FILE, or both")
    if parsed.gazetteer and not parsed.train:
        raise InputError("--gazetteer labels the documents of --train, and there are none", hint="pass --train FILE")
    settings = [*parsed.set]
    settings += [] if parsed.seed is None else [f"training.seed={parsed.seed}"]
    settings += [] if parsed.device == "auto" else [f'training.device="{parsed.device}"']
    config = load_config(parsed.preset, parsed.config, settings, method=parsed.method, encoder=parsed.encoder)
    notes = Notes(parsed.on_error)
    matching = match_options(parsed)
    gazetteer = load_gazetteer(parsed, notes) if parsed.gazetteer else None
    from mproto.training.interrupt import Interrupted

    try:
        done = _train(parsed, config, gazetteer, matching, notes)
    except Interrupted as stopped:
        print_notes(notes)
        if not str(stopped):  # of several processes, the first one speaks
            raise
        raise Interrupted(f"{stopped}\nto go on: {_resuming(parsed)}") from None
    except MprotoError:
        print_notes(notes)
        raise
    if parsed.json:
        figures = {
            "documents": done.documents,
            "labels": done.labels,
            "names": done.names,
            "steps": done.steps,
            "best_step": done.best_step,
            "score": done.score,
            "dev_f1": done.dev_f1,
            "unlabelled": done.unlabelled,
            "kept": done.kept,
            "output": str(parsed.output),
            "report": None if done.report is None else str(done.report),
        }
        print_json(figures | notes_as_dict(notes))
        return
    print_notes(notes)
    _show(done, config, parsed.output)


def _show(done: Trained, config: Config, output: Path) -> None:
    labels = ", ".join(f"{count:,} {label}" for label, count in sorted(done.labels.items()))
    sys.stdout.write(f"{done.documents:,} documents with {labels}; {done.steps:,} steps" + "\n")
    if done.names:
        sys.stdout.write(f"names, whose capitals count: {', '.join(done.names)}" + "\n")
    if done.dev_f1 is not None:
        sys.stdout.write(f"best on the development data at step {done.best_step:,}: F1 {percent(done.dev_f1)}" + "\n")
    elif done.score is not None:
        sys.stdout.write(
            f"best by {config.training.selection} at step {done.best_step:,}: {percent(done.score)}" + "\n"
        )
    if done.unlabelled is not None:
        sys.stdout.write(f"words without a label that are entities, estimated: {percent(done.unlabelled)} %" + "\n")
    if done.kept is not None:
        sys.stdout.write(f"words without a label that were learnt as O, at the end: {percent(done.kept)} %" + "\n")
    sys.stdout.write(f"the model is in {output}" + "\n")
    if done.report is not None:
        sys.stdout.write(f"a page about the run is {done.report}" + "\n")


def _resuming(parsed: argparse.Namespace) -> str:
    """The call that goes on with a run that was stopped."""
    arguments = [argument for argument in parsed.call if argument not in ("--force", "--resume")]
    call = shlex.join(["mproto", *arguments, "--resume"])
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    return call if processes == 1 else f"the same launcher with {processes} processes, and --resume added"


def _train(
    parsed: argparse.Namespace, config: Config, gazetteer: Gazetteer | None, matching: MatchOptions, notes: Notes
) -> Trained:
    from mproto.io.sources import Source
    from mproto.workflows.train import train_files

    with training_progress() as on_progress:
        return train_files(
            Source(parsed.train, notes) if parsed.train else None,
            parsed.output,
            config,
            labelled=Source(parsed.labelled, notes) if parsed.labelled else None,
            dev=Source(parsed.dev, notes) if parsed.dev else None,
            gazetteer=gazetteer,
            match_options=matching,
            read_format=parsed.read_format,
            options=options(parsed),
            force=parsed.force,
            resume=parsed.resume,
            tensorboard=parsed.tensorboard,
            report=not parsed.no_report,
            on_progress=on_progress,
        )
