from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Before anything imports torch: tests run side by side, on matrices so small that threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("MPROTO_DATA", ROOT / "../shared/data"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run slow tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    no_data = pytest.mark.skip(reason=f"the published data sets are not at {DATA}; set MPROTO_DATA")
    too_slow = pytest.mark.skip(reason="slow; run pytest --slow")
    for item in items:
        if "data" in item.keywords and not DATA.is_dir():
            item.add_marker(no_data)
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(too_slow)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_interrupts() -> Iterator[None]:
    """Handle SIGINT as usual, in this process and in all processes that tests start.

    Background jobs of a shell script, and some CI runners, start the suite with SIGINT ignored. Child processes inherit that,
    and would never react to the Ctrl-C that a test sends.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a handler is not inherited: children start with the default
    yield
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return DATA
