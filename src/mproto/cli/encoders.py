"""`mproto encoders`: which encoders are on this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from mproto.cli.console import print_json

if TYPE_CHECKING:
    import argparse

SUMMARY = "list the encoders on this machine, and how to get others"
DESCRIPTION = """List the encoders that can be used without a network: the embedded one, and those that the Hugging Face
hub's cache holds.

Others need no installation. With a network, give the name of any encoder of the hub. Without one, save it elsewhere with
save_pretrained, bring the folder here, and give its path."""
EXAMPLE = "mproto encoders"
OTHERS = """Others: with a network, give the name of any encoder of the Hugging Face hub (bert-base-cased, say). Without one,
save it on a machine that has it, and give the path of the folder:
    AutoTokenizer.from_pretrained("bert-base-cased").save_pretrained("folder")
    AutoModel.from_pretrained("bert-base-cased").save_pretrained("folder")
It needs a fast tokenizer and safetensors; code that comes with a model is never run.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # it takes none


def run(parsed: argparse.Namespace) -> None:
    from mproto.models.available import EMBEDDED, available

    found = available()
    if parsed.json:
        print_json({"default": EMBEDDED, "encoders": [asdict(encoder) for encoder in found]})
        return
    for encoder in found:
        default = "  (default)" if encoder.name == EMBEDDED else ""
        size = f", {encoder.megabytes:,.0f} MB" if encoder.megabytes else ""
        state = f"ready{size}" if encoder.ok else f"cannot be used: {encoder.problem}"
        place = f"  {encoder.where}\n" if encoder.where else ""
        sys.stdout.write(f"{encoder.name}{default}\n  {state}\n{place}\n")
    sys.stdout.write(OTHERS)
