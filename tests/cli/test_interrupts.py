"""Ctrl-C at the worst moment: while the program is still being loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mproto import cli

# Runs the program as `python -m mproto formats` does, and presses Ctrl-C when a certain module is to be imported.
PROGRAM = """
import os, runpy, signal, sys

class Presser:
    def find_spec(self, name, path=None, target=None):
        if name == "{name}":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
del sys.modules["signal"]
sys.meta_path.insert(0, Presser())
sys.argv = ["mproto", "formats"]
runpy.run_module("mproto", run_name="__main__", alter_sys=True)
"""


def run(name: str, handler: str = "default_int_handler") -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(name=name, handler=handler)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["signal", "mproto.cli", "argparse", "mproto.cli.convert"])
def test_while_loading(name: str) -> None:
    done = run(name)
    assert done.returncode == 130
    assert done.stdout == done.stderr == ""


def test_an_ignored_interrupt_does_not_stop_the_program() -> None:
    done = run("mproto.cli.convert", "SIG_IGN")
    assert done.returncode == 0, done.stderr
    assert "conll" in done.stdout


def test_while_the_arguments_are_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def pressed() -> None:
        raise KeyboardInterrupt

    monkeypatch.delenv("MPROTO_DEBUG", raising=False)
    monkeypatch.setattr(cli, "_parser", pressed)
    assert cli.main(["formats"]) == 130
    assert capsys.readouterr().err == "mproto: stopped; no output was written\n"
