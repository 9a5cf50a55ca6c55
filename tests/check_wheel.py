"""Check that a wheel is complete. Run this where only the wheel is installed."""

import json
import subprocess
import sys
import sysconfig
from importlib.metadata import entry_points, version
from pathlib import Path

import mproto
from mproto import demo

command = Path(sysconfig.get_path("scripts")) / "mproto"
assert Path(mproto.__file__).is_relative_to(sys.prefix), mproto.__file__
assert version("mproto-ner") == mproto.__version__
assert [entry.name for entry in entry_points(group="spacy_factories")] == ["mproto"]
assert len(demo.documents("train")) > 600
assert (demo.FOLDER / "GUIDE.md").is_file()
assert (Path(mproto.__file__).parent / "py.typed").is_file()

shown = json.loads(subprocess.run([command, "demo", "--no-training", "--json"], check=True, capture_output=True).stdout)
assert shown["splits"]["test"]["sentences"] == len(demo.documents("test"))
assert shown["scores"]["dictionary lookup"]["overall"]["f1"] > 0

missing = subprocess.run([command, "convert", demo.FOLDER / "test.jsonl", "x.parquet"], capture_output=True, text=True)
assert missing.returncode == 2, missing
assert "pip install 'mproto-ner[parquet]'" in missing.stderr, missing.stderr
sys.stdout.write(f"wheel: mproto {mproto.__version__} works from {Path(mproto.__file__).parent}\n")
