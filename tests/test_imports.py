from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "numpy", "spacy", "pyarrow", "rich")


@pytest.mark.parametrize(
    "code",
    [
        "import mproto",
        "import mproto.text",
        "import mproto.gazetteer",
        "from mproto import Document, Gazetteer, annotate, score",
        "from mproto.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
    ],
)
def test_heavy_libraries_are_not_imported(code: str) -> None:
    check = f"{code}\nimport sys\nfound = set({HEAVY!r}) & set(sys.modules)\nassert not found, found"
    subprocess.run([sys.executable, "-c", check], check=True, stdout=subprocess.DEVNULL)


def test_every_public_name_is_there() -> None:
    import mproto

    assert sorted(mproto.__all__) == mproto.__all__
    assert all(getattr(mproto, name) is not None for name in mproto.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = mproto.nonsense
