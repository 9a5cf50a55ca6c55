"""`mproto train`: train a recogniser on text and terms."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mproto.cli.arguments import (
    add_device,
    add_gazetteer,
    add_matching,
    add_reading,
    load_gazetteer,
    match_options,
    options,
)
from mproto.cli.console import notes_as_dict, print_json, print_notes
from mproto.cli.tables import percent
from mproto.errors import InputError, MprotoError, Notes

if TYPE_CHECKING:
    import argparse

    from mproto.config import Config
    from mproto.gazetteer import Gazetteer, MatchOptions
    from mproto.training import TrainingResult
    from mproto.workflows.train import TrainingSummary

SUMMARY = "train a recogniser on text and terms, or on labelled documents"
DESCRIPTION = """Train a named-entity recogniser on distant labels, human labels, or both.

With --gazetteer, the terms label the documents of --train. Without it, the labels of --train are
used; they may be incomplete. If documents of --train have human labels next to distant labels,
only the distant ones are used for training and selection; the report at the end compares the
two. Documents with complete human labels, few or many, go into --labelled; --train may then be
left out.

The default settings differ from the paper: models that were not trained on a word decide, before
the last training, whether it is learnt as an entity, as O, or not at all. --preset paper uses the
paper's optimal transport in every step instead. The default settings were chosen on human labels,
those of BC5CDR, CoNLL03 and Wikigold (development data, and training data for analysis).

The output folder contains config.toml (all settings), history.jsonl (every step), report.html (a
report on the run) and best/ (the model). mproto predict and mproto evaluate accept this folder.
At the end, the command shows how good the model, the terms and both are expected to be, and which
of them mproto predict and evaluate use by default with --gazetteer.

The size of the data decides how long training takes; --minutes shortens it.

Ctrl-C finishes the step and writes a checkpoint. The same command with --resume resumes the run;
on a CPU with the same versions, the model is bit-identical to that of an uninterrupted run. After
a crash, --resume starts from the last checkpoint (training.checkpoint_minutes sets how often one
is written)."""
EXAMPLE = "mproto train --train corpus.txt --gazetteer terms/ --output my-run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--train", metavar="FILE", type=Path, help="text, or documents with distant labels")
    parser.add_argument(
        "--labelled", metavar="FILE", type=Path, help="human-labelled documents to train on, few or many"
    )
    parser.add_argument(
        "--dev",
        metavar="FILE",
        type=Path,
        help="human-labelled documents that select the best checkpoint and calibrate the scores",
    )
    parser.add_argument("--output", required=True, metavar="DIR", type=Path, help="a new folder for the run")
    parser.add_argument("--method", metavar="NAME", help="mproto (default) or a baseline; see docs/baselines.md")
    parser.add_argument(
        "--preset",
        default="default",
        help="default, paper (the paper's text) or published (the paper, with the prototype update of its code)",
    )
    parser.add_argument("--encoder", metavar="NAME", help="an encoder; see mproto encoders (default: the bundled one)")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="a TOML file with settings; it overrides the preset"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="one setting, for example training.epochs=3 or dropout=0.2; it overrides preset and file",
    )
    add_device(parser)
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="shorten the training so that it takes about N minutes"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="random seed (default: 0)")
    parser.add_argument("--resume", action="store_true", help="resume the run in the folder")
    parser.add_argument("--force", action="store_true", help="replace an older run in the folder")
    parser.add_argument("--no-report", action="store_true", help="do not write report.html into the folder")
    parser.add_argument("--tensorboard", action="store_true", help="write curves for TensorBoard into the folder")
    add_gazetteer(parser, "terms that label the documents of --train: a folder of TYPE.txt, a file, or TYPE=FILE")
    add_matching(parser)
    add_reading(parser)


def run(parsed: argparse.Namespace) -> None:
    from mproto.config import load_config

    if parsed.force and parsed.resume:
        raise InputError("--force replaces a run, and --resume continues it", hint="pass only one of them")
    if not parsed.train and not parsed.labelled:
        raise InputError("there is nothing to train on", hint="pass --train FILE, --labelled FILE, or both")
    if parsed.gazetteer and not parsed.train:
        raise InputError("--gazetteer labels the documents of --train, which is missing", hint="pass --train FILE")
    settings = [*parsed.set]
    settings += [] if parsed.seed is None else [f"training.seed={parsed.seed}"]
    settings += [] if parsed.minutes is None else [f"training.minutes={parsed.minutes}"]
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
        if not str(stopped):  # only the first process prints
            raise
        raise Interrupted(f"{stopped}\nto resume: {_resume_command(parsed)}") from None
    except MprotoError:
        print_notes(notes)
        raise
    if parsed.json:
        print_json(_as_dict(done, parsed.output) | notes_as_dict(notes))
        return
    print_notes(notes)
    _show(done, parsed.output)


def _as_dict(done: TrainingSummary, output: Path) -> dict[str, Any]:
    return {
        "documents": done.documents,
        "labels": done.labels,
        "name_types": done.name_types,
        "steps": done.result.steps,
        "best_step": done.result.best_step,
        "dev_f1": done.result.dev_f1,
        "unlabelled_share": done.result.unlabelled_share,
        "unlabelled_interval": done.result.unlabelled_interval,
        "relabelled": done.result.relabelled or None,
        "kept_share": done.result.kept_share,
        "recommended": done.result.recommended,
        "expected_scores": done.result.expected_scores or None,
        "output": str(output),
        "report": None if done.report is None else str(done.report),
    }


def _show(done: TrainingSummary, output: Path) -> None:
    result = done.result
    labels = ", ".join(f"{count:,} {label}" for label, count in sorted(done.labels.items()))
    lines = [f"{done.documents:,} documents with {labels}; {result.steps:,} steps"]
    if done.name_types:
        lines.append(f"types matched as names (capitals count): {', '.join(done.name_types)}")
    if result.dev_f1 is not None:
        lines.append(f"best F1 on the development data: {percent(result.dev_f1)}, at step {result.best_step:,}")
    lines += _estimate(result)
    if result.relabelled:
        shown = "{added:,} words labelled O are learnt as entities; {left_out:,} doubtful words are left out"
        lines.append(f"cross-fitting: {shown.format(**result.relabelled)}")
    elif result.kept_share is not None:
        lines.append(f"words labelled O that were used at the end: {percent(result.kept_share)} %")
    lines += _expectations(result)
    lines.append(f"model: {output}")
    if done.report is not None:
        lines.append(f"report: {done.report}")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _estimate(result: TrainingResult) -> list[str]:
    """Say how many of the words labelled O are entities, as far as the data tell."""
    from mproto.denoising.shares import is_known

    share, interval = result.unlabelled_share, result.unlabelled_interval
    if share is None:
        return []
    text = "estimated share of entities among words labelled O:"
    if interval is None:
        return [f"{text} {percent(share)} %"]
    if not is_known(*interval):
        return [f"{text} unknown; {percent(share)} % is assumed. More terms or more text help"]
    low, high = map(percent, interval)
    return [f"{text} {percent(share)} % (80 % interval: {low} to {high} %)"]


def _expectations(result: TrainingResult) -> list[str]:
    """Say how good the model, the terms and both are expected to be, and which is used by default."""
    from mproto.persistence.card import COMBINATION_OF, MEASURES, WAYS

    lines = []
    if result.expected_scores:
        lines.append("expected precision / recall / F1, by word (rough: no human label was used):")
    for way, scores in result.expected_scores.items():
        lines.append(f"  {WAYS[way]}: {' / '.join(percent(scores[measure]) for measure in MEASURES)} %")
    if result.recommended:
        used = f"--combine {COMBINATION_OF[result.recommended]}, the default of predict, evaluate and serve with --gazetteer"
        worse = "; the model is expected to be worse than the term list alone" * (result.recommended == "terms")
        lines.append(f"recommended: {WAYS[result.recommended]} ({used}){worse}")
    return lines


def _resume_command(parsed: argparse.Namespace) -> str:
    """Return the command that resumes the interrupted run."""
    arguments = [argument for argument in parsed.call if argument not in ("--force", "--resume")]
    call = shlex.join(["mproto", *arguments, "--resume"])
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    return call if processes == 1 else f"use the same launcher with {processes} processes, and add --resume"


def _train(
    parsed: argparse.Namespace, config: Config, gazetteer: Gazetteer | None, matching: MatchOptions, notes: Notes
) -> TrainingSummary:
    from mproto.io.sources import Source
    from mproto.training.progress_bar import training_progress
    from mproto.workflows.train import train_files

    with training_progress(lines=True) as on_step:
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
            on_step=on_step,
            on_warning=lambda warning: sys.stderr.write(f"note: {warning}\n"),
        )
