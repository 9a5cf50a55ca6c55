"""`mproto encoders`: list the encoders on this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from mproto.cli.console import print_json

if TYPE_CHECKING:
    import argparse

SUMMARY = "list the encoders on this machine, and how to get others"
DESCRIPTION = """List the encoders that can be used offline: the bundled one, and those in the
Hugging Face hub's cache.

Other encoders need no installation: with a network connection, pass the name of any encoder on
the hub to mproto train. Without one, save the encoder on another machine with save_pretrained,
copy the folder here, and pass its path."""
EXAMPLE = "mproto encoders"
OTHERS = """Other encoders: with a network connection, pass the name of any encoder on the Hugging Face hub,
for example bert-base-cased. Without one, save it on a machine that has it, and pass the path of
the folder:
    AutoTokenizer.from_pretrained("bert-base-cased").save_pretrained("folder")
    AutoModel.from_pretrained("bert-base-cased").save_pretrained("folder")
It needs a fast tokenizer and safetensors weights. Code that comes with a model is never run.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # this command has no arguments


def run(parsed: argparse.Namespace) -> None:
    from mproto.models.available import EMBEDDED, available

    encoders = available()
    if parsed.json:
        print_json({"default": EMBEDDED, "encoders": [asdict(encoder) for encoder in encoders]})
        return
    for encoder in encoders:
        default = "  (default)" if encoder.name == EMBEDDED else ""
        size = f", {encoder.megabytes:,.0f} MB" if encoder.megabytes else ""
        state = f"ready{size}" if encoder.ok else f"cannot be used: {encoder.problem}"
        folder = f"  {encoder.where}\n" if encoder.where else ""
        sys.stdout.write(f"{encoder.name}{default}\n  {state}\n{folder}\n")
    sys.stdout.write(OTHERS)
