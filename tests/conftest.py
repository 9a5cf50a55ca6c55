from __future__ import annotations

import os
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


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return DATA
