"""The suite can run as a background job, whose SIGINT is ignored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHILD = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nsignal.sigtimedwait([signal.SIGINT], 10)"
TEST = f"""
import os, signal, subprocess, sys
import pytest

def test_this_process():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([signal.SIGUSR1], 10)

def test_its_children():
    done = subprocess.run([sys.executable, "-c", {CHILD!r}], stderr=subprocess.PIPE, text=True)
    assert "KeyboardInterrupt" in done.stderr
"""


def test_ctrl_c_reaches_tests_of_a_background_job(tmp_path: Path) -> None:
    """With the suite's own fixture, in a process that ignores SIGINT when it starts."""
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_it.py"]
    ignoring = ["bash", "-c", "trap '' INT; exec \"$@\"", "bash", *call]
    done = subprocess.run(ignoring, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
